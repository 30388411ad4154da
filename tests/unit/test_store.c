/* store: what is written is read back; what is damaged costs only what was damaged. */
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
#include "store/natives.h"
#include "store/reader.h"
#include "store/record.h"
#include "store/rewrite.h"
#include "tests/store_sample.h"

static void read_good(const struct bytes *file, struct recording *recording)
{
    struct err err = {0};
    assert_int_equal(reader_read(file->data, file->size, "sample", recording, &err), 0);
    assert_true(sample_invariants_hold(recording));
}

static void assert_definitions(const struct recording *recording)
{
    assert_int_equal(recording->codes_count, 6);
    assert_string_equal(recording_text(recording, recording->codes[1].name), "main");
    assert_string_equal(recording_text(recording, recording->codes[1].file), "a.py");
    assert_int_equal(recording->codes[1].line, 3);
    assert_int_equal(recording->codes[2].kind, CODE_C);
    assert_int_equal(recording->codes[2].flags, CODE_THROTTLED);
    assert_int_equal(recording->nodes_count, 5);
    assert_int_equal(recording->nodes[2].parent, 1);
    assert_int_equal(recording->nodes[2].code, 2);
    assert_int_equal(recording->nodes[2].line, 7);
    assert_int_equal(recording->processes_count, 3);
    assert_int_equal(recording->processes[1].exit_code, -9);
    assert_int_equal(recording->processes[1].end_ns, 77);
    assert_int_equal(recording->processes[1].rank, UINT32_MAX);
    assert_string_equal(recording_text(recording, recording->processes[1].command), SAMPLE_COMMAND);
    assert_int_equal(recording->processes[2].rank, 3);
    assert_int_equal(recording->processes[2].parent, 1);
    assert_int_equal(recording->threads_count, 3);
    assert_string_equal(recording_text(recording, recording->threads[2].name), "pool");
    assert_int_equal(recording->threads[2].process, 2);
}

/* reduce, inlined in cos, and an address without a name. */
static void assert_natives(const struct recording *recording)
{
    struct natives natives;
    assert_int_equal(natives_init(&natives, recording, NULL), 0);
    assert_int_equal(recording->modules_count, 2);
    const struct module *module = &recording->modules[1];
    assert_string_equal(recording_text(recording, module->path), "/usr/lib/libm.so.6");
    assert_string_equal(recording_text(recording, module->build_id), "0123456789abcdef");
    assert_int_equal(module->size_bytes, 900000);
    const struct mapping *mapping = &recording->mappings[0];
    assert_true(mapping->start == 0x7f0000001000 && mapping->end == 0x7f0000009000);
    assert_int_equal(mapping->file_offset, 0x1000);
    assert_int_equal(mapping->since_ns, 5);
    uint32_t named = recording->nodes[3].code, nameless = recording->nodes[4].code;
    assert_int_equal(natives_address(&natives, named)->offset, 0x1234);
    assert_int_equal(natives_address(&natives, named)->module, 1);
    const struct symbol *inner = natives_symbol(&natives, named);
    assert_string_equal(recording_text(recording, inner->name), "reduce");
    assert_int_equal(inner->line, 7);
    const struct symbol *outer = natives_symbol(&natives, inner->inlined_in);
    assert_string_equal(recording_text(recording, outer->name), "cos");
    assert_string_equal(recording_text(recording, outer->file), "s_sin.c");
    assert_int_equal(outer->line, 20);
    assert_int_equal(outer->inlined_in, 0);
    assert_null(natives_address(&natives, outer->code));
    assert_true(natives_address(&natives, nameless)->offset == UINT64_C(1) << 60);
    assert_null(natives_symbol(&natives, nameless));
    assert_int_equal(recording->codes[nameless].flags, CODE_INTERNAL);
    assert_null(natives_address(&natives, 1)); /* a code with a name */
    natives_clear(&natives);
}

/* By thread, then time, as they were written. */
static void assert_samples(const struct recording *recording)
{
    const struct sample_row expected[] = {
        {.time_ns = 1000, .weight_ns = 1000, .thread = 1, .node = 2, .count = 1, .state = 7},
        {.time_ns = 2100, .weight_ns = 1000, .thread = 1, .node = 1, .count = 1, .state = 3},
        {.time_ns = UINT64_C(1) << 50, .thread = 1, .count = 1},
        {.time_ns = 3000, .weight_ns = 1000, .thread = 2, .node = 1, .count = 1},
        {.time_ns = 4000, .weight_ns = 2000, .thread = 2, .node = 2, .count = 2, .state = 1},
    };
    assert_int_equal(recording->samples_count, 5);
    for (uint32_t i = 0; i < 5; i++) {
        const struct sample_row *row = &recording->samples[i];
        assert_true(row->time_ns == expected[i].time_ns);
        assert_int_equal(row->weight_ns, expected[i].weight_ns);
        assert_int_equal(row->thread, expected[i].thread);
        assert_int_equal(row->node, expected[i].node);
        assert_int_equal(row->count, expected[i].count);
        assert_int_equal(row->state, expected[i].state);
    }
}

/* Rows of equal lines are added up; of min and max those that say least and most. */
static void assert_lines(const struct recording *recording)
{
    const struct line_row expected[] = {{1, 1, 4, 1, 50, 50, 50, 50},
                                        {1, 1, 5, 5, 1600, 400, 100, 600},
                                        {2, 1, 1u << 30, 1, UINT64_C(1) << 40, 0, 0, 0}};
    assert_int_equal(recording->lines_count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        const struct line_row *row = &recording->lines[i];
        assert_true(row->thread == expected[i].thread && row->code == expected[i].code);
        assert_int_equal(row->line, expected[i].line);
        assert_int_equal(row->hits, expected[i].hits);
        assert_true(row->total_ns == expected[i].total_ns && row->self_ns == expected[i].self_ns);
        assert_true(row->min_ns == expected[i].min_ns && row->max_ns == expected[i].max_ns);
    }
}

static void assert_data(const struct recording *recording)
{
    assert_lines(recording);
    assert_int_equal(recording->calls_count, 3);
    assert_int_equal(recording->calls[1].calls, 15);
    assert_true(recording->calls[1].self_ns == (UINT64_C(1) << 40) + 50);
    assert_int_equal(recording->calls[2].thread, 2);
    assert_int_equal(recording->calls[2].self_ns, 7);
    assert_samples(recording);
    assert_int_equal(recording->functions_count, 1);
    assert_int_equal(recording->functions[0].total_ns, 900);
    assert_int_equal(recording->edges_count, 1);
    assert_int_equal(recording->edges[0].callee, 2);
    assert_int_equal(recording->notes_count, 1);
    assert_int_equal(recording->notes[0].count, 9);
    assert_string_equal(recording_text(recording, recording->notes[0].text), "rows lost");
    assert_string_equal(recording_meta(recording, "mode"), "trace");
    assert_null(recording_meta(recording, "absent"));
    assert_int_equal(recording->sources_count, 2);
    const struct source_file *source = recording_source(recording, recording->codes[1].file);
    assert_non_null(source);
    assert_int_equal(source->size_bytes, 16);
    assert_memory_equal(recording_source_text(recording, source), "import b\nlen(b)\n", 16);
    assert_null(recording_source(recording, recording->metas[0].value));
}

static void assert_sample(const struct recording *recording)
{
    assert_definitions(recording);
    assert_natives(recording);
    assert_data(recording);
    assert_true(recording->damage.complete);
    assert_false(recording->damage.truncated);
    assert_int_equal(recording->damage.damaged_chunks, 0);
    assert_int_equal(recording->damage.skipped_bytes, 0);
}

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

/* ---- cut and flipped ---- */

/* Where each chunk begins, and after them the end of the file. */
struct layout {
    size_t at[16];
    size_t count;
};

static struct layout layout_of(const struct bytes *file)
{
    struct layout layout = {0};
    size_t offset = CHUNK_FILE_BYTES;
    while (offset < file->size) {
        struct chunk chunk;
        assert_true(chunk_get(file->data + offset, &chunk));
        layout.at[layout.count++] = offset;
        offset += CHUNK_HEADER_BYTES + chunk.stored_bytes;
    }
    assert_int_equal(offset, file->size);
    layout.at[layout.count] = offset;
    assert_true(layout.count >= 6);
    return layout;
}

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
    /* 2 + 1 + 1 rows of calls, 4 of lines, 5 samples, one function, one edge, the updates of process 1 and of a code's
     * flags, and two nodes below those that were lost */
    assert_int_equal(recording.damage.orphaned_rows, 21);
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
    FORGE(&forged, RECORD_PROCESSES, 11, 0, 1, 10, 1, 0, 0, 0, 0, 0, 0, 0, UINT64_MAX);
    forge_chunk(&forged, RECORD_KIND_DEFS, CHUNK_RAW);
    struct damage damage = read_forged(&forged, &recording);
    assert_int_equal(damage.damaged_chunks, 0);
    assert_int_equal(damage.orphaned_rows, 6);
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
    assert_int_equal(ids.count, 10);
    assert_int_equal(ids_next(&ids), 903);
    for (uint32_t i = 0; i < 10; i++) {
        assert_int_equal(ids_find(&ids, 100 * i + 2), 2 * i + 2);
        assert_int_equal(ids_find(&ids, 100 * i), IDS_UNKNOWN);
        assert_int_equal(ids_find(&ids, 100 * i + 3), IDS_UNKNOWN);
    }
    ids_clear(&ids);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_round_trip),
        cmocka_unit_test(whole_recordings_are_copied_and_merged),
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
        cmocka_unit_test(the_first_failure_sticks),
        cmocka_unit_test(ids_that_were_never_defined_are_a_failure),
        cmocka_unit_test(equal_definitions_share_an_id),
        cmocka_unit_test(large_recordings_are_split),
        cmocka_unit_test(the_last_bytes_lead_to_the_index),
        cmocka_unit_test(ids_move_by_gaps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
