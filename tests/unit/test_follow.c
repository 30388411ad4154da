/* follow: a recording that grows says the same as one that is read at once, however its bytes are cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "store/chunk.h"
#include "store/compress.h"
#include "store/follow.h"
#include "store/reader.h"
#include "tests/recording_same.h"
#include "tests/store_sample.h"

/* In two pieces, the rest in pieces of `step` bytes (0 = in one). */
static int follow_file(const struct bytes *file, size_t first, size_t step, struct recording *recording)
{
    struct follow follow;
    int result = follow_init(&follow, recording, "grown", NULL);
    for (size_t at = 0; result == 0 && at < file->size;) {
        size_t piece = at == 0 && first ? first : step ? step : file->size;
        if (piece > file->size - at)
            piece = file->size - at;
        result = follow_feed(&follow, file->data + at, piece, NULL);
        at += piece;
    }
    if (result == 0)
        result = follow_end(&follow, NULL);
    follow_clear(&follow);
    if (result == 0)
        result = recording_order_samples(recording, NULL);
    return result == 0 ? recording_compact_calls(recording, NULL) : -1;
}

static void check_all_cuts(const struct bytes *file)
{
    struct recording whole = {0};
    int expected = reader_read(file->data, file->size, "whole", &whole, NULL);
    for (size_t first = 1; first <= file->size; first++) {
        struct recording grown = {0};
        assert_int_equal(follow_file(file, first, first % 5, &grown), expected);
        if (expected == 0)
            assert_true(recording_same(&whole, &grown));
        recording_clear(&grown);
    }
    recording_clear(&whole);
}

static void every_cut_gives_the_same(void **state)
{
    (void)state;
    writer_compress *ways[] = {NULL, compress_zstd};
    for (size_t way = 0; way < 2; way++) {
        struct bytes file = sample_file(ways[way]);
        check_all_cuts(&file);
        bytes_clear(&file);
    }
}

/* Each byte of the file in turn is spoiled, so that every part of every chunk is once. */
static void damage_gives_the_same(void **state)
{
    (void)state;
    struct bytes file = sample_file(NULL);
    for (size_t place = 0; place < file.size; place++) {
        file.data[place] ^= 0x41;
        struct recording whole = {0}, grown = {0};
        int expected = reader_read(file.data, file.size, "whole", &whole, NULL);
        assert_int_equal(follow_file(&file, 1 + place % 97, 1 + place % 71, &grown), expected);
        assert_true(expected < 0 || recording_same(&whole, &grown));
        recording_clear(&whole);
        recording_clear(&grown);
        file.data[place] ^= 0x41;
    }
    bytes_clear(&file);
}

static void an_unfinished_file_gives_the_same(void **state)
{
    (void)state;
    struct bytes file = sample_file(NULL);
    for (; file.size > 0; file.size--) {
        struct recording whole = {0}, grown = {0};
        int expected = reader_read(file.data, file.size, "whole", &whole, NULL);
        assert_int_equal(follow_file(&file, 3, 29, &grown), expected);
        assert_true(expected < 0 || recording_same(&whole, &grown));
        recording_clear(&whole);
        recording_clear(&grown);
    }
    bytes_clear(&file);
}

static void junk_before_a_chunk_gives_the_same(void **state)
{
    (void)state;
    struct bytes file = sample_file(NULL), spoiled = {0};
    size_t second = CHUNK_FILE_BYTES;
    struct chunk chunk;
    assert_true(chunk_get(file.data + second, &chunk));
    second += CHUNK_HEADER_BYTES + chunk.stored_bytes;
    bytes_put(&spoiled, file.data, second);
    for (int i = 0; i < 5; i++)
        bytes_put_text(&spoiled,
                       CHUNK_SYNC "junk" CHUNK_SYNC "that begins like a chunk, and is longer than one");
    bytes_put(&spoiled, file.data + second, file.size - second);
    check_all_cuts(&spoiled);
    bytes_clear(&file);
    bytes_clear(&spoiled);
}

/* ---- memory ---- */

struct growing {
    struct follow follow;
    struct recording recording;
    uint64_t weight_ns;
};

static int feed(void *context, const void *data, size_t size, struct err *err)
{
    struct growing *growing = context;
    if (follow_feed(&growing->follow, data, size, err) < 0)
        return -1;
    for (uint32_t i = 0; i < growing->recording.samples_count; i++)
        growing->weight_ns += growing->recording.samples[i].weight_ns;
    follow_release(&growing->follow);
    return 0;
}

static void memory_does_not_grow_with_time(void **state)
{
    (void)state;
    struct growing growing = {0};
    assert_int_equal(follow_init(&growing.follow, &growing.recording, "growing", NULL), 0);
    struct writer *writer = writer_new(&(struct writer_options){feed, &growing, NULL}, NULL);
    uint32_t code =
        writer_code(writer, &(struct code){.name = sample_text(writer, "f"), .kind = CODE_PYTHON});
    uint32_t node = writer_node(writer, &(struct node){.code = code});
    uint32_t process = writer_process(writer, &(struct process){.pid = 1, .rank = UINT32_MAX});
    uint32_t thread = writer_thread(writer, &(struct thread){.process = process, .tid = 1});
    uint32_t capacities[3] = {0};
    for (uint64_t second = 0; second < 3000; second++) {
        for (uint64_t i = 0; i < 10; i++)
            writer_sample(writer, &(struct sample_row){second * 1000 + i, 7, thread, node, 1, 1});
        assert_int_equal(writer_flush(writer), 0);
        if (second == 10) {
            capacities[0] = growing.recording.samples_capacity;
            capacities[1] = growing.recording.chunks_capacity;
            capacities[2] = growing.recording.nodes_capacity;
        }
    }
    assert_int_equal(writer_close(writer, NULL), 0);
    assert_int_equal(growing.weight_ns, 3000 * 10 * 7);
    assert_int_equal(growing.recording.nodes_count, 2);
    assert_int_equal(growing.recording.samples_capacity, capacities[0]);
    assert_int_equal(growing.recording.chunks_capacity, capacities[1]);
    assert_int_equal(growing.recording.nodes_capacity, capacities[2]);
    assert_true(growing.follow.held.capacity < 4096);
    assert_true(growing.recording.damage.complete);
    follow_clear(&growing.follow);
    recording_clear(&growing.recording);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cut_gives_the_same),
        cmocka_unit_test(damage_gives_the_same),
        cmocka_unit_test(an_unfinished_file_gives_the_same),
        cmocka_unit_test(junk_before_a_chunk_gives_the_same),
        cmocka_unit_test(memory_does_not_grow_with_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
