/* store: what is written is read back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/checksum.h"
#include "store/chunk.h"
#include "store/compress.h"
#include "store/ids.h"
#include "store/record.h"
#include "store/rewrite.h"
#include "tests/store_reading.h"

static void files_round_trip(void **state)
{
    (void)state;
    struct bytes raw = sample_file(NULL), packed = sample_file(compress_zstd);
    assert_true(packed.size < raw.size); /* so that the second reading expands something */
    const struct bytes *files[] = {&raw, &packed};
    for (int i = 0; i < 2; i++) {
        struct recording recording = {0};
        assert_true(reader_recognises(files[i]->data, 8));
        read_good(files[i], &recording);
        assert_sample(&recording);
        recording_clear(&recording);
    }
    bytes_clear(&raw);
    bytes_clear(&packed);
}

static void whole_recordings_are_copied_and_merged(void **state)
{
    (void)state;
    struct bytes file = sample_file(NULL), merged = {0};
    struct recording recording = {0}, both = {0};
    read_good(&file, &recording);
    struct writer *writer = writer_new(&(struct writer_options){writer_sink_bytes, &merged, NULL}, NULL);
    assert_int_equal(rewrite_recording(writer, &recording, NULL), 0);
    assert_int_equal(rewrite_recording(writer, &recording, NULL), 0);
    assert_int_equal(writer_close(writer, NULL), 0);
    read_good(&merged, &both);
    assert_int_equal(both.codes_count, recording.codes_count); /* equal definitions are shared */
    assert_int_equal(both.nodes_count, recording.nodes_count);
    assert_int_equal(both.addresses_count, recording.addresses_count);
    assert_natives(&both);
    assert_int_equal(both.threads_count, 5); /* threads and processes never are */
    assert_int_equal(both.processes[4].parent, 3);
    assert_int_equal(both.threads[4].process, 4);
    assert_int_equal(both.calls_count, 6);
    assert_int_equal(both.calls[4].thread, 3);
    assert_int_equal(both.lines_count, 6);
    assert_int_equal(both.lines[4].thread, 3);
    assert_int_equal(both.lines[4].hits, 5);
    assert_int_equal(both.calls[4].calls, 15);
    recording_clear(&recording);
    recording_clear(&both);
    bytes_clear(&file);
    bytes_clear(&merged);
}

/* ---- the writer ---- */

static int sink_that_fails(void *context, const void *data, size_t size, struct err *err)
{
    int *left = context;
    (void)data;
    (void)size;
    return (*left)-- > 0 ? 0 : err_set(err, "no space left");
}

static void the_first_failure_sticks(void **state)
{
    (void)state;
    struct err err = {0};
    int left = 0;
    struct writer_options options = {.sink = sink_that_fails, .context = &left};
    assert_null(writer_new(&options, &err));
    assert_string_equal(err.text, "no space left");
    for (int good = 1; good <= 2; good++) {
        err = (struct err){0};
        left = good;
        struct writer *writer = writer_new(&options, &err);
        sample_write(writer);
        writer_flush(writer);
        assert_int_equal(writer_string(writer, "after", 5), 0);
        assert_int_equal(writer_close(writer, &err), -1);
        assert_string_equal(err.text, "no space left");
    }
}

static void ids_that_were_never_defined_are_a_failure(void **state)
{
    (void)state;
    struct bytes file = {0};
    struct err err = {0};
    struct writer *writer = writer_new(&(struct writer_options){writer_sink_bytes, &file, NULL}, &err);
    assert_int_equal(writer_node(writer, &(struct node){.code = 5}), 0);
    assert_int_equal(writer_close(writer, &err), -1);
    assert_string_equal(err.text, "code 5 was never defined");
    bytes_clear(&file);
}

static void equal_definitions_share_an_id(void **state)
{
    (void)state;
    struct bytes file = {0};
    struct writer *writer = writer_new(&(struct writer_options){writer_sink_bytes, &file, NULL}, NULL);
    uint32_t name = sample_text(writer, "f");
    assert_int_equal(sample_text(writer, "f"), name);
    assert_int_equal(sample_text(writer, ""), 0);
    struct code code = {.name = name, .kind = CODE_PYTHON, .line = 4};
    uint32_t id = writer_code(writer, &code);
    code.flags = CODE_LIBRARY;
    assert_int_equal(writer_code(writer, &code), id);
    code.line = 5;
    assert_int_not_equal(writer_code(writer, &code), id);
    uint32_t node = writer_node(writer, &(struct node){0, id, 0});
    assert_int_equal(writer_node(writer, &(struct node){0, id, 0}), node);
    assert_int_not_equal(writer_node(writer, &(struct node){node, id, 0}), node);
    assert_int_equal(writer_close(writer, NULL), 0);
    struct recording recording = {0};
    read_good(&file, &recording);
    assert_int_equal(recording.codes[id].flags, CODE_LIBRARY);
    recording_clear(&recording);
    bytes_clear(&file);
}

/* Samples do not know a function's module, calls do. */
static void a_module_may_become_known_later(void **state)
{
    (void)state;
    struct bytes file = {0};
    struct writer *writer = writer_new(&(struct writer_options){writer_sink_bytes, &file, NULL}, NULL);
    struct code code = {.name = sample_text(writer, "f"), .kind = CODE_PYTHON};
    uint32_t id = writer_code(writer, &code);
    assert_int_equal(writer_flush(writer), 0);
    code.module = sample_text(writer, "one");
    assert_int_equal(writer_code(writer, &code), id);
    code.module = sample_text(writer, "two"); /* the same file, loaded by another name */
    assert_int_not_equal(writer_code(writer, &code), id);
    code.module = 0;
    assert_int_equal(writer_code(writer, &code), id);
    assert_int_equal(writer_close(writer, NULL), 0);
    struct recording recording = {0};
    read_good(&file, &recording);
    assert_string_equal(recording_text(&recording, recording.codes[id].module), "one");
    recording_clear(&recording);
    bytes_clear(&file);
}

/* Large enough for many chunks; every row is checked afterwards. */
static void large_recordings_are_split(void **state)
{
    (void)state;
    enum { NODES = 300000, ROUNDS = 3 };
    struct bytes file = {0};
    struct writer *writer =
        writer_new(&(struct writer_options){writer_sink_bytes, &file, compress_zstd}, NULL);
    uint32_t process = writer_process(writer, &(struct process){.pid = 1});
    uint32_t thread = writer_thread(writer, &(struct thread){.process = process});
    struct code code = {.kind = CODE_PYTHON};
    for (uint32_t i = 1; i <= NODES; i++) {
        code.line = i;
        assert_int_equal(writer_code(writer, &code), i);
        assert_int_equal(writer_node(writer, &(struct node){i / 2, i, 0}), i);
    }
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (uint32_t i = NODES; i > 0; i--)
            writer_calls(writer, process, &(struct call_row){thread, i, i, UINT64_C(1000000000000) + i});
    }
    assert_int_equal(writer_close(writer, NULL), 0);
    struct recording recording = {0};
    read_good(&file, &recording);
    assert_true(recording.chunks_count > 4);
    for (uint32_t i = 0; i < recording.chunks_count; i++)
        assert_true(recording.chunks[i].raw_bytes < 5 << 20);
    assert_int_equal(recording.calls_count, NODES);
    for (uint32_t i = 1; i <= NODES; i++) {
        assert_int_equal(recording.nodes[i].parent, i / 2);
        assert_int_equal(recording.calls[i - 1].node, i);
        assert_int_equal(recording.calls[i - 1].calls, (uint64_t)i * ROUNDS);
    }
    recording_clear(&recording);
    bytes_clear(&file);
}

static void the_last_bytes_lead_to_the_index(void **state)
{
    (void)state;
    struct bytes file = sample_file(compress_zstd);
    struct layout layout = layout_of(&file);
    uint64_t offset = 0;
    for (int i = 0; i < 8; i++)
        offset |= (uint64_t)file.data[file.size - 8 + (size_t)i] << (8 * i);
    assert_int_equal(offset, layout.at[layout.count - 1]);
    struct chunk chunk;
    assert_true(chunk_get(file.data + offset, &chunk));
    assert_int_equal(chunk.kind, RECORD_KIND_END);
    assert_int_equal(chunk.rows, layout.count - 1);
    bytes_clear(&file);
}

static void ids_move_by_gaps(void **state)
{
    (void)state;
    struct ids ids = {0};
    assert_int_equal(ids_find(&ids, 1), IDS_UNKNOWN);
    for (uint32_t i = 0; i < 10; i++) {
        assert_true(ids_define(&ids, 100 * i + 1, 2 * i + 1));
        assert_true(ids_define(&ids, 100 * i + 2, 2 * i + 2));
    }
    assert_int_equal(ids.equal, 2);
    assert_int_equal(ids.count, 9); /* runs */
    assert_int_equal(ids_next(&ids), 903);
    for (uint32_t i = 0; i < 10; i++) {
        assert_int_equal(ids_find(&ids, 100 * i + 2), 2 * i + 2);
        assert_int_equal(ids_find(&ids, 100 * i), IDS_UNKNOWN);
        assert_int_equal(ids_find(&ids, 100 * i + 3), IDS_UNKNOWN);
    }
    ids_clear(&ids);
}

static void one_thread_is_one_row(void **state)
{
    (void)state;
    struct bytes file = {0};
    struct writer *writer = writer_new(&(struct writer_options){writer_sink_bytes, &file, NULL}, NULL);
    assert_non_null(writer);
    uint32_t process = writer_process(writer, &(struct process){.pid = 7});
    const struct thread thread = {.process = process, .tid = 7};
    uint32_t first = writer_met_thread(writer, WRITER_CALLS, &thread);
    assert_int_equal(writer_met_thread(writer, WRITER_SAMPLES, &thread), first);
    /* The kernel has given the number to another thread. */
    uint32_t second = writer_met_thread(writer, WRITER_SAMPLES, &thread);
    assert_int_not_equal(second, first);
    assert_int_equal(writer_met_thread(writer, WRITER_CALLS, &thread), second);
    assert_int_equal(writer_thread_count(writer), 2);
    writer_abandon(writer);
    bytes_clear(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_round_trip),
        cmocka_unit_test(whole_recordings_are_copied_and_merged),
        cmocka_unit_test(the_first_failure_sticks),
        cmocka_unit_test(ids_that_were_never_defined_are_a_failure),
        cmocka_unit_test(equal_definitions_share_an_id),
        cmocka_unit_test(a_module_may_become_known_later),
        cmocka_unit_test(large_recordings_are_split),
        cmocka_unit_test(the_last_bytes_lead_to_the_index),
        cmocka_unit_test(ids_move_by_gaps),
        cmocka_unit_test(one_thread_is_one_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
