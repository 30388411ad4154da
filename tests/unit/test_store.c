/* store: what is written is read back, whole files and damaged ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/err.h"
#include "store/compress.h"
#include "store/reader.h"
#include "store/recording.h"
#include "store/writer.h"

static uint32_t text(struct writer *writer, const char *string)
{
    return writer_string(writer, string, strlen(string));
}

/* main → work → len; two processes with a thread each; flushed in the middle, so that rows add up. */
static void write_sample(struct writer *writer)
{
    struct code main_code = {
        .name = text(writer, "main"), .file = text(writer, "a.py"), .line = 3, .kind = CODE_PYTHON};
    struct code len_code = {
        .name = text(writer, "<built-in method builtins.len>"), .file = text(writer, "~"), .kind = CODE_C};
    uint32_t main_id = writer_code(writer, &main_code), len_id = writer_code(writer, &len_code);
    uint32_t top = writer_node(writer, &(struct node){.code = main_id});
    uint32_t below = writer_node(writer, &(struct node){.parent = top, .code = len_id, .line = 7});
    struct process process = {
        .pid = 4711, .rank = UINT32_MAX, .host = text(writer, "node1"), .exit_code = INT32_MIN};
    uint32_t first = writer_process(writer, &process);
    uint32_t thread = writer_thread(writer, &(struct thread){.process = first, .tid = 4711, .start_ns = 5});
    writer_calls(writer, first, &(struct call_row){thread, top, 1, 1000});
    writer_calls(writer, first, &(struct call_row){thread, below, 10, 50});
    assert_int_equal(writer_flush(writer), 0);
    uint32_t second = writer_process(writer, &(struct process){.pid = 4712, .parent = first, .rank = 3});
    uint32_t other =
        writer_thread(writer, &(struct thread){.process = second, .name = text(writer, "pool"), .tid = 4713});
    writer_calls(writer, first, &(struct call_row){thread, below, 5, UINT64_C(1) << 40});
    writer_calls(writer, second, &(struct call_row){other, top, 2, 7});
    writer_function(writer, &(struct flat_function){main_id, 5, 4, 300, 900});
    writer_edge(writer, &(struct flat_edge){main_id, len_id, 15, 15, 20, 20});
    writer_note(
        writer,
        &(struct note){.process = second, .kind = NOTE_LOSS, .count = 9, .text = text(writer, "rows lost")});
    writer_meta(writer, "mode", "trace");
    process.exit_code = -9;
    process.end_ns = 77;
    writer_update_process(writer, first, &process);
    writer_update_code(writer, len_id, &(struct code){.flags = CODE_THROTTLED});
}

static struct bytes sample_file(writer_compress *compress)
{
    struct bytes file = {0};
    struct err err = {0};
    struct writer_options options = {.sink = writer_sink_bytes, .context = &file, .compress = compress};
    struct writer *writer = writer_new(&options, &err);
    assert_non_null(writer);
    write_sample(writer);
    assert_int_equal(writer_close(writer, &err), 0);
    return file;
}

static void assert_sample(const struct recording *recording)
{
    assert_int_equal(recording->codes_count, 3);
    assert_int_equal(recording->nodes_count, 3);
    assert_int_equal(recording->processes_count, 3);
    assert_int_equal(recording->threads_count, 3);
    assert_string_equal(recording_text(recording, recording->codes[1].name), "main");
    assert_int_equal(recording->codes[1].line, 3);
    assert_int_equal(recording->codes[2].flags, CODE_THROTTLED);
    assert_int_equal(recording->nodes[2].parent, 1);
    assert_int_equal(recording->nodes[2].code, 2);
    assert_int_equal(recording->nodes[2].line, 7);
    assert_int_equal(recording->processes[1].exit_code, -9);
    assert_int_equal(recording->processes[1].end_ns, 77);
    assert_int_equal(recording->processes[1].rank, UINT32_MAX);
    assert_int_equal(recording->processes[2].exit_code, 0);
    assert_int_equal(recording->processes[2].rank, 3);
    assert_int_equal(recording->processes[2].parent, 1);
    assert_string_equal(recording_text(recording, recording->threads[2].name), "pool");
    assert_int_equal(recording->calls_count, 3);
    assert_int_equal(recording->calls[1].calls, 15);
    assert_true(recording->calls[1].self_ns == (UINT64_C(1) << 40) + 50);
    assert_int_equal(recording->calls[2].thread, 2);
    assert_int_equal(recording->functions[0].total_ns, 900);
    assert_int_equal(recording->edges[0].callee, 2);
    assert_int_equal(recording->notes[0].count, 9);
    assert_string_equal(recording_meta(recording, "mode"), "trace");
    assert_true(recording->damage.complete);
    assert_int_equal(recording->damage.damaged_chunks, 0);
    assert_int_equal(recording->damage.skipped_bytes, 0);
}

static void round_trip(writer_compress *compress)
{
    struct bytes file = sample_file(compress);
    struct recording recording = {0};
    struct err err = {0};
    assert_true(reader_recognises(file.data, 8));
    assert_int_equal(reader_read(file.data, file.size, "sample", &recording, &err), 0);
    assert_sample(&recording);
    recording_clear(&recording);
    bytes_clear(&file);
}

static void raw_files_round_trip(void **state)
{
    (void)state;
    round_trip(NULL);
}

static void compressed_files_round_trip(void **state)
{
    (void)state;
    round_trip(compress_zstd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(raw_files_round_trip),
        cmocka_unit_test(compressed_files_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
