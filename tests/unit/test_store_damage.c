/* store: what is damaged costs only what was damaged; what is foreign, newer or hostile is refused or passed over. */
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
#include "store/record.h"
#include "tests/store_reading.h"

/* ---- cut and flipped ---- */

/* A copy of exactly that size, so that a sanitizer sees a read past its end. */
static uint8_t *exact_copy(const struct bytes *file, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, file->data, size);
    return copy;
}

static void check_cut(const struct bytes *file, const struct layout *layout, size_t size)
{
    uint8_t *cut = exact_copy(file, size);
    struct recording recording = {0};
    struct err err = {0};
    int result = reader_read(cut, size, "cut.sonde", &recording, &err);
    if (size < 8) {
        assert_int_equal(result, -1);
        assert_non_null(strstr(err.text, "cut.sonde"));
    } else {
        size_t whole = 0;
        while (whole < layout->count && layout->at[whole + 1] <= size)
            whole++;
        bool at_border = size == CHUNK_FILE_BYTES || size == layout->at[whole];
        assert_int_equal(result, 0);
        assert_true(sample_invariants_hold(&recording));
        assert_int_equal(recording.chunks_count, whole);
        assert_int_equal(recording.damage.damaged_chunks, 0);
        assert_int_equal(recording.damage.orphaned_rows, 0);
        assert_int_equal(recording.damage.truncated, !at_border);
        assert_int_equal(recording.damage.complete, size == file->size);
    }
    recording_clear(&recording);
    free(cut);
}

static void a_cut_file_keeps_all_before_the_cut(void **state)
{
    (void)state;
    writer_compress *const ways[] = {NULL, compress_zstd};
    for (int way = 0; way < 2; way++) {
        struct bytes file = sample_file(ways[way]);
        struct layout layout = layout_of(&file);
        for (size_t size = 0; size <= file.size; size++)
            check_cut(&file, &layout, size);
        bytes_clear(&file);
    }
}

static void check_flip(struct bytes *file, const struct layout *layout, size_t place, uint8_t bits)
{
    file->data[place] ^= bits;
    struct recording recording = {0};
    read_good(file, &recording);
    assert_true(recording.damage.skipped_bytes > 0);
    if (place < CHUNK_FILE_BYTES) { /* the chunks vouch for the file */
        assert_definitions(&recording);
        assert_data(&recording);
    } else {
        assert_int_equal(recording.damage.damaged_chunks, 1);
        size_t good = 0;
        for (uint32_t i = 0; i < recording.chunks_count; i++)
            good += recording.chunks[i].state != CHUNK_DAMAGED;
        assert_int_equal(good, layout->count - 1);
    }
    assert_false(recording.damage.truncated);
    assert_int_equal(recording.damage.complete, place < layout->at[layout->count - 1]);
    recording_clear(&recording);
    file->data[place] ^= bits;
}

static void a_flipped_byte_costs_one_chunk(void **state)
{
    (void)state;
    writer_compress *const ways[] = {NULL, compress_zstd};
    for (int way = 0; way < 2; way++) {
        struct bytes file = sample_file(ways[way]);
        struct layout layout = layout_of(&file);
        for (size_t place = 0; place < file.size; place++) {
            check_flip(&file, &layout, place, 0x01);
            check_flip(&file, &layout, place, 0xff);
        }
        bytes_clear(&file);
    }
}

static void ids_after_a_lost_chunk_are_still_right(void **state)
{
    (void)state;
    struct bytes file = sample_file(NULL);
    struct layout layout = layout_of(&file);
    file.data[layout.at[0] + CHUNK_HEADER_BYTES] ^= 1; /* the first DEFS: all but process 2 and thread 2 */
    struct recording recording = {0};
    read_good(&file, &recording);
    assert_int_equal(recording.processes_count, 2);
    assert_int_equal(recording.processes[1].pid, 4712);
    assert_int_equal(recording.threads_count, 2);
    assert_string_equal(recording_text(&recording, recording.threads[1].name), "pool");
    assert_int_equal(recording.calls_count, 0);
    assert_string_equal(recording_meta(&recording, "mode"), "trace");
    assert_string_equal(recording_text(&recording, recording.notes[0].text), "rows lost");
    /* 2 + 1 + 1 rows of calls, 4 of lines, 5 samples, one function, one edge, of memory 2 of the heap, 3 of sizes, 3
     * events and 2 lines, 2 events of regions, 2 marks, 3 calls and a line of one, 2 clocks, 2 messages, a collective and 3 totals, the updates of process 1 and of a code's
     * flags, and two nodes below those that were lost */
    assert_int_equal(recording.damage.orphaned_rows, 47);
    recording_clear(&recording);
    bytes_clear(&file);
}

static void junk_between_chunks_is_passed_over(void **state)
{
    (void)state;
    struct bytes file = sample_file(NULL), spoiled = {0};
    struct layout layout = layout_of(&file);
    bytes_put(&spoiled, file.data, layout.at[2]);
    bytes_put_text(&spoiled, CHUNK_SYNC "junk that begins like a chunk" CHUNK_SYNC);
    bytes_put(&spoiled, file.data + layout.at[2], file.size - layout.at[2]);
    struct recording recording = {0};
    read_good(&spoiled, &recording);
    assert_definitions(&recording);
    assert_data(&recording);
    assert_int_equal(recording.damage.skipped_bytes, spoiled.size - file.size);
    recording_clear(&recording);
    bytes_clear(&file);
    bytes_clear(&spoiled);
}

static void a_repeated_chunk_is_not_counted_twice(void **state)
{
    (void)state;
    struct bytes file = sample_file(NULL), doubled = {0};
    struct layout layout = layout_of(&file);
    bytes_put(&doubled, file.data, layout.at[2]);
    bytes_put(&doubled, file.data + layout.at[1], file.size - layout.at[1]);
    struct recording recording = {0};
    read_good(&doubled, &recording);
    assert_data(&recording);
    assert_int_equal(recording.damage.damaged_chunks, 1);
    recording_clear(&recording);
    bytes_clear(&file);
    bytes_clear(&doubled);
}

/* ---- foreign and newer ---- */

static void foreign_files_are_refused(void **state)
{
    (void)state;
    const char *const texts[] = {"",
                                 "#!/usr/bin/python\nprint('a program, not a recording, of some length')\n"};
    for (int i = 0; i < 2; i++) {
        struct recording recording = {0};
        struct err err = {0};
        assert_false(reader_recognises(texts[i], strlen(texts[i])));
        assert_int_equal(reader_read(texts[i], strlen(texts[i]), "x.py", &recording, &err), -1);
        assert_non_null(strstr(err.text, "x.py is not a sonde recording"));
        recording_clear(&recording);
    }
}

static void reseal_file_header(struct bytes *file)
{
    uint32_t checksum = checksum_crc32c(0, file->data, 12);
    for (int i = 0; i < 4; i++)
        file->data[12 + i] = (uint8_t)(checksum >> (8 * i));
}

static void newer_versions(void **state)
{
    (void)state;
    struct bytes file = sample_file(NULL);
    struct recording recording = {0};
    struct err err = {0};
    file.data[10] = 9; /* a minor version only adds */
    reseal_file_header(&file);
    read_good(&file, &recording);
    assert_sample(&recording);
    recording_clear(&recording);
    file.data[8] = RECORD_MAJOR + 1;
    reseal_file_header(&file);
    assert_int_equal(reader_read(file.data, file.size, "new.sonde", &recording, &err), -1);
    assert_non_null(strstr(err.text, "new.sonde has version 2"));
    assert_non_null(strstr(err.text, "update sonde"));
    recording_clear(&recording);
    bytes_clear(&file);
}

/* ---- payloads made by hand ---- */

struct forged {
    struct bytes file, payload;
    uint32_t sequence;
};

static void forge_begin(struct forged *forged)
{
    *forged = (struct forged){0};
    chunk_put_file_header(&forged->file);
}

/* Appends a record: columns, key, then varints until `count` values. */
static void forge_record(struct forged *forged, unsigned tag, uint64_t columns, uint64_t key, size_t count,
                         const uint64_t *values)
{
    struct bytes body = {0};
    bytes_put_varint(&body, columns);
    bytes_put_varint(&body, key);
    for (size_t i = 0; i < count; i++)
        bytes_put_varint(&body, values[i]);
    bytes_put_varint(&forged->payload, tag);
    bytes_put_counted(&forged->payload, body.data, body.size);
    bytes_clear(&body);
}

#define FORGE(forged, tag, columns, key, ...)                                                                \
    forge_record(forged, tag, columns, key, sizeof(uint64_t[]){__VA_ARGS__} / sizeof(uint64_t),              \
                 (uint64_t[]){__VA_ARGS__})

static void forge_chunk(struct forged *forged, uint16_t kind, uint8_t compression)
{
    struct bytes *payload = &forged->payload;
    struct chunk chunk = {.kind = kind,
                          .compression = compression,
                          .sequence = forged->sequence++,
                          .stored_bytes = (uint32_t)payload->size,
                          .raw_bytes = (uint32_t)payload->size,
                          .checksum = checksum_crc32c(0, payload->data, payload->size)};
    chunk_put(&forged->file, &chunk);
    bytes_put(&forged->file, payload->data, payload->size);
    bytes_reset(payload);
}

static struct damage read_forged(struct forged *forged, struct recording *recording)
{
    *recording = (struct recording){0};
    read_good(&forged->file, recording);
    bytes_clear(&forged->file);
    bytes_clear(&forged->payload);
    return recording->damage;
}

/* Differences, an older writer's four columns, ids that were lost, and too few columns. */
static void samples_made_by_hand(void **state)
{
    (void)state;
    struct forged forged;
    struct recording recording;
    forge_begin(&forged);
    FORGE(&forged, RECORD_CODES, 7, 1, 0, 0, 0, 0, 42, CODE_PYTHON, 0);
    FORGE(&forged, RECORD_NODES, 3, 1, 1, 1, 0);
    FORGE(&forged, RECORD_THREADS, 6, 0, 1, 0, 0, 4711, 0, 0);
    forge_chunk(&forged, RECORD_KIND_DEFS, CHUNK_RAW);
    FORGE(&forged, RECORD_SAMPLES, 5, 1, 200, 2, 20, 3, 4, 19, 0, 0, 0, 0); /* 10 ns before, the same again */
    FORGE(&forged, RECORD_SAMPLES, 4, 1, 400, 0, 20, 1);
    FORGE(&forged, RECORD_SAMPLES, 5, 1, 400, 4, 20, 1, 1);
    FORGE(&forged, RECORD_SAMPLES, 5, 9, 400, 2, 20, 1, 1);
    forge_chunk(&forged, RECORD_KIND_SAMPLES, CHUNK_RAW);
    FORGE(&forged, RECORD_SAMPLES, 3, 1, 400, 2, 20);
    forge_chunk(&forged, RECORD_KIND_SAMPLES, CHUNK_RAW);
    struct damage damage = read_forged(&forged, &recording);
    assert_int_equal(damage.orphaned_rows, 2);
    assert_int_equal(damage.damaged_chunks, 1);
    assert_int_equal(recording.samples_count, 3);
    const uint64_t times[] = {90, 100, 200}, counts[] = {1, 4, 1}, nodes[] = {1, 1, 0};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(recording.samples[i].time_ns, times[i]);
        assert_int_equal(recording.samples[i].count, counts[i]);
        assert_int_equal(recording.samples[i].node, nodes[i]);
        assert_int_equal(recording.samples[i].weight_ns, 10);
    }
    recording_clear(&recording);
}

static void what_is_unknown_is_skipped_and_counted(void **state)
{
    (void)state;
    struct forged forged;
    struct recording recording;
    forge_begin(&forged);
    FORGE(&forged, 0x7fff, 3, 1, 1, 2, 3);
    FORGE(&forged, RECORD_CODES, 9, 1, 0, 0, 0, 0, 42, CODE_PYTHON, 0, 1, 2); /* two columns more */
    FORGE(&forged, RECORD_CODES, 5, 2, 0, 0, 0, 0, 43);                       /* two columns fewer */
    FORGE(&forged, RECORD_CODES, 7, 3, 0, 0, 0, 0, 44, 99, 0);                /* a kind of code to come */
    forge_chunk(&forged, RECORD_KIND_DEFS, CHUNK_RAW);
    forge_chunk(&forged, 999, CHUNK_RAW);
    forge_chunk(&forged, RECORD_KIND_DEFS, 99);
    struct damage damage = read_forged(&forged, &recording);
    assert_int_equal(damage.unknown_records, 1);
    assert_int_equal(damage.unknown_chunks, 2);
    assert_int_equal(damage.damaged_chunks, 0);
    assert_int_equal(recording.codes_count, 4);
    assert_int_equal(recording.codes[1].line, 42);
    assert_int_equal(recording.codes[2].line, 43);
    assert_int_equal(recording.codes[3].kind, CODE_OTHER);
    recording_clear(&recording);
}

/* Whatever the record says, the reader refuses the row, keeps its invariants and says so. */
static void hostile_records_are_refused(void **state)
{
    (void)state;
    static const struct {
        unsigned tag;
        uint64_t columns, key, values[12];
        size_t count;
    } cases[] = {
        {RECORD_NODES, 3, 1, {0, 0, 0}, 3},                   /* its own parent */
        {RECORD_NODES, 3, 1, {2, 0, 0}, 3},                   /* a parent below 0 */
        {RECORD_NODES, 3, 0, {1, 0, 0}, 3},                   /* defines id 0 */
        {RECORD_NODES, 3, UINT32_MAX, {1, 0, 0}, 3},          /* an id out of range */
        {RECORD_NODES, 3, 1, {1, 0, UINT64_MAX}, 3},          /* a line out of range */
        {RECORD_NODES, 3, 1, {1, 0}, 2},                      /* half a row */
        {RECORD_NODES, 0, 1, {1}, 1},                         /* no columns */
        {RECORD_NODES, 65, 1, {1}, 1},                        /* too many */
        {RECORD_NODES, UINT64_MAX, 1, {1}, 1},                /* far too many */
        {RECORD_STRINGS, 1, 1, {0}, 1},                       /* an empty string */
        {RECORD_STRINGS, 1, 1, {UINT32_MAX}, 1},              /* longer than the record */
        {RECORD_STRINGS, 1, 1, {1, 'a', 1, 'a'}, 4},          /* the same string twice */
        {RECORD_CODES, 7, 1, {UINT64_MAX, 0, 0, 0, 1, 1}, 7}, /* a string id out of range */
        {RECORD_PROCESSES, 11, 0, {0, 1}, 11},                /* process 0 */
        {RECORD_PROCESSES, 11, 0, {UINT32_MAX, 1}, 11},       /* an id out of range */
        {RECORD_THREADS, 6, 0, {0, 0}, 6},                    /* thread 0 */
        {RECORD_CALLS, 3, 0, {1, 1, 1}, 3},                   /* node -1 */
        {RECORD_CALLS, 3, UINT64_MAX, {0, 1, 1}, 3},          /* a thread out of range */
        {RECORD_EDGES, 6, 0, {0, UINT64_MAX, 1, 1, 1, 1}, 6}, /* a callee out of range */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct forged forged;
        struct recording recording;
        forge_begin(&forged);
        forge_record(&forged, cases[i].tag, cases[i].columns, cases[i].key, cases[i].count, cases[i].values);
        forge_chunk(&forged, RECORD_KIND_DEFS, CHUNK_RAW);
        struct damage damage = read_forged(&forged, &recording);
        assert_int_equal(damage.damaged_chunks, 1);
        recording_clear(&recording);
    }
}

static void rows_that_name_unknown_ids_are_orphaned(void **state)
{
    (void)state;
    struct forged forged;
    struct recording recording;
    forge_begin(&forged);
    FORGE(&forged, RECORD_NODES, 3, 1, 1, 77, 0, /* a code that nobody defined, */ 1, 0,
          0 /* and its child */);
    FORGE(&forged, RECORD_NODES, 3, 4000000000, 4000000000, 0, 0); /* a gap costs no memory */
    FORGE(&forged, RECORD_THREADS, 6, 0, 1, 9, 0, 0, 0, 0);
    FORGE(&forged, RECORD_CODES, 7, 1, 5, 5, 5, 5, 1, CODE_PYTHON, 0);
    FORGE(&forged, RECORD_CALLS, 3, 1, 2, 1, 1);
    FORGE(&forged, RECORD_FUNCTIONS, 5, 0, 2000, 1, 1, 1, 1);
    FORGE(&forged, RECORD_CODE_FLAGS, 2, 0, 1000, 1);
    FORGE(&forged, RECORD_CODE_MODULES, 2, 0, 1000, 0);
    FORGE(&forged, RECORD_PROCESSES, 11, 0, 1, 10, 1, 0, 0, 0, 0, 0, 0, 0, UINT64_MAX);
    forge_chunk(&forged, RECORD_KIND_DEFS, CHUNK_RAW);
    struct damage damage = read_forged(&forged, &recording);
    assert_int_equal(damage.damaged_chunks, 0);
    assert_int_equal(damage.orphaned_rows, 7);
    assert_int_equal(damage.orphaned_chunks, 1);
    assert_int_equal(recording.nodes_count, 2); /* the one behind the gap hangs on the root */
    assert_string_equal(recording_text(&recording, recording.codes[1].name), "(lost)");
    assert_int_equal(recording.processes[1].parent, 0); /* it had named itself */
    assert_int_equal(recording.processes[1].exit_code, INT32_MIN);
    recording_clear(&recording);
}

static void wrong_sizes_are_refused(void **state)
{
    (void)state;
    struct bytes file = sample_file(compress_zstd);
    struct chunk chunk;
    struct bytes header = {0};
    assert_true(chunk_get(file.data + CHUNK_FILE_BYTES, &chunk));
    assert_int_equal(chunk.compression, CHUNK_ZSTD);
    chunk.raw_bytes++; /* not what the payload expands to */
    chunk_put(&header, &chunk);
    memcpy(file.data + CHUNK_FILE_BYTES, header.data, CHUNK_HEADER_BYTES);
    struct recording recording = {0};
    read_good(&file, &recording);
    assert_int_equal(recording.damage.damaged_chunks, 1);
    recording_clear(&recording);
    bytes_reset(&header);
    chunk.raw_bytes = RECORD_CHUNK_MAX + 1;
    chunk_put(&header, &chunk);
    assert_false(chunk_get(header.data, &chunk));
    bytes_clear(&header);
    bytes_clear(&file);
}

/* 64 MiB of one byte in a few kilobytes, five times: no recording shrinks like that. */
static void a_file_that_expands_without_end_is_refused(void **state)
{
    (void)state;
    size_t raw_bytes = RECORD_CHUNK_MAX;
    struct bytes raw = {0}, packed = {0}, file = {0};
    assert_true(bytes_reserve(&raw, raw_bytes) && bytes_reserve(&packed, raw_bytes));
    memset(raw.data, 0, raw_bytes);
    packed.size = compress_zstd(raw.data, raw_bytes, packed.data, raw_bytes);
    assert_true(packed.size > 0 && packed.size < 10000);
    chunk_put_file_header(&file);
    for (uint32_t sequence = 0; sequence < 5; sequence++) {
        struct chunk chunk = {.kind = RECORD_KIND_DEFS,
                              .compression = CHUNK_ZSTD,
                              .sequence = sequence,
                              .stored_bytes = (uint32_t)packed.size,
                              .raw_bytes = (uint32_t)raw_bytes,
                              .checksum = checksum_crc32c(0, packed.data, packed.size)};
        chunk_put(&file, &chunk);
        bytes_put(&file, packed.data, packed.size);
    }
    struct recording recording = {0};
    struct err err = {0};
    assert_int_equal(reader_read(file.data, file.size, "bomb.sonde", &recording, &err), -1);
    assert_non_null(strstr(err.text, "bomb.sonde expands to more than"));
    recording_clear(&recording);
    bytes_clear(&raw);
    bytes_clear(&packed);
    bytes_clear(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cut_file_keeps_all_before_the_cut),
        cmocka_unit_test(a_flipped_byte_costs_one_chunk),
        cmocka_unit_test(ids_after_a_lost_chunk_are_still_right),
        cmocka_unit_test(junk_between_chunks_is_passed_over),
        cmocka_unit_test(a_repeated_chunk_is_not_counted_twice),
        cmocka_unit_test(foreign_files_are_refused),
        cmocka_unit_test(newer_versions),
        cmocka_unit_test(samples_made_by_hand),
        cmocka_unit_test(what_is_unknown_is_skipped_and_counted),
        cmocka_unit_test(hostile_records_are_refused),
        cmocka_unit_test(rows_that_name_unknown_ids_are_orphaned),
        cmocka_unit_test(wrong_sizes_are_refused),
        cmocka_unit_test(a_file_that_expands_without_end_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
