#include "base/cursor.h"
#include "store/decode_rows.h"
#include "store/record.h"
#include "store/recording.h"

/* Putting a meta searches the others: a hostile number of them must not cost its square. */
#define META_ROWS_MAX 16384
/* The same goes for files with their text, which are found by searching. */
#define SOURCE_ROWS_MAX 16384

enum outcome decode_data_meta(struct decode *decode, struct rows *rows, const uint64_t *values)
{
    (void)rows;
    if (decode->meta_rows++ >= META_ROWS_MAX)
        return ROW_WRONG;
    struct meta meta = {(uint32_t)values[0], (uint32_t)values[1]};
    return decode_rows_added(decode, (uint32_t)recording_put_meta(decode->recording, meta));
}

enum outcome decode_data_note(struct decode *decode, struct rows *rows, const uint64_t *values)
{
    (void)rows;
    uint32_t process = decode_rows_find(&decode->processes, values[0]);
    bool known_kind = values[1] >= NOTE_LOSS && values[1] <= NOTE_REMARK;
    struct note note = {.process = process == IDS_UNKNOWN ? 0 : process,
                        .kind = known_kind ? (uint8_t)values[1] : (uint8_t)NOTE_WARNING,
                        .count = values[2],
                        .text = (uint32_t)values[3]};
    return decode_rows_added(decode, recording_add_note(decode->recording, &note));
}

enum outcome decode_data_calls(struct decode *decode, struct rows *rows, const uint64_t *values)
{
    uint32_t node = decode_rows_find(&decode->nodes, values[0]);
    if (node == IDS_UNKNOWN || rows->orphaned)
        return ROW_ORPHANED;
    struct call_row row = {(uint32_t)rows->key, node, values[1], values[2]};
    return decode_rows_added(decode, recording_add_calls(decode->recording, &row));
}

/* Four columns at least, here and in samples, so that a hostile byte does not buy a whole row. */
enum outcome decode_data_line(struct decode *decode, struct rows *rows, const uint64_t *values)
{
    uint32_t code = decode_rows_find(&decode->codes, values[0]);
    if (rows->columns < 4)
        return ROW_WRONG;
    if (code == IDS_UNKNOWN || rows->orphaned)
        return ROW_ORPHANED;
    struct line_row row = {.thread = (uint32_t)rows->key,
                           .code = code,
                           .line = (uint32_t)values[1],
                           .hits = values[2],
                           .total_ns = values[3],
                           .self_ns = values[4],
                           .min_ns = values[5],
                           .max_ns = values[6]};
    return decode_rows_added(decode, recording_add_line(decode->recording, &row));
}

enum outcome decode_data_sample(struct decode *decode, struct rows *rows, const uint64_t *values)
{
    uint32_t node = decode_rows_find(&decode->nodes, values[1]);
    if (rows->columns < 4)
        return ROW_WRONG;
    if (node == IDS_UNKNOWN || rows->orphaned)
        return ROW_ORPHANED;
    struct sample_row row = {.time_ns = values[0],
                             .weight_ns = values[2],
                             .thread = (uint32_t)rows->key,
                             .node = node,
                             .count = values[4] ? (uint32_t)values[4] : 1,
                             .state = (uint8_t)(values[3] & ~(uint64_t)SAMPLE_LEFT_OUT)};
    return decode_rows_added(decode, recording_add_sample(decode->recording, &row));
}

enum outcome decode_data_function(struct decode *decode, struct rows *rows, const uint64_t *values)
{
    (void)rows;
    struct flat_function row = {decode_rows_find(&decode->codes, values[0]), values[1], values[2], values[3],
                                values[4]};
    if (row.code == IDS_UNKNOWN)
        return ROW_ORPHANED;
    return decode_rows_added(decode, recording_add_function(decode->recording, &row));
}

enum outcome decode_data_edge(struct decode *decode, struct rows *rows, const uint64_t *values)
{
    (void)rows;
    struct flat_edge row = {.caller = decode_rows_find(&decode->codes, values[0]),
                            .callee = decode_rows_find(&decode->codes, values[1]),
                            .calls = values[2],
                            .primitive_calls = values[3],
                            .self_ns = values[4],
                            .total_ns = values[5]};
    if (row.caller == IDS_UNKNOWN || row.callee == IDS_UNKNOWN)
        return ROW_ORPHANED;
    return decode_rows_added(decode, recording_add_edge(decode->recording, &row));
}

enum outcome decode_data_source(struct decode *decode, struct rows *rows)
{
    struct cursor text = cursor_get_counted(&rows->cursor);
    if (rows->cursor.failed || cursor_left(&text) > RECORD_SOURCE_MAX ||
        decode->source_rows++ >= SOURCE_ROWS_MAX)
        return ROW_WRONG;
    if (rows->orphaned)
        return ROW_ORPHANED;
    return decode_rows_added(
        decode, recording_add_source(decode->recording, (uint32_t)rows->key, text.at, cursor_left(&text)));
}

/* ---- values over time, memory ---- */

enum outcome decode_data_series(struct decode *decode, struct rows *rows, const uint64_t *values)
{
    struct series_row row = {values[0], (int64_t)values[1], (uint32_t)rows->key};
    if (rows->columns < 2)
        return ROW_WRONG;
    if (rows->orphaned)
        return ROW_ORPHANED;
    return decode_rows_added(decode, recording_add_series(decode->recording, &row));
}

enum outcome decode_data_region_event(struct decode *decode, struct rows *rows, const uint64_t *values)
{
    uint32_t region = decode_rows_find(&decode->regions, values[1]);
    uint32_t ends = decode_rows_find(&decode->regions, values[3]);
    if (rows->columns < 2)
        return ROW_WRONG;
    if (region == IDS_UNKNOWN || ends == IDS_UNKNOWN || rows->orphaned)
        return ROW_ORPHANED;
    struct region_event_row row = {values[0], (int64_t)values[2], (uint32_t)rows->key,
                                   region,    region ? 0 : ends,  (uint32_t)values[4]};
    return decode_rows_added(decode, recording_add_region_event(decode->recording, &row));
}

enum outcome decode_data_mark(struct decode *decode, struct rows *rows, const uint64_t *values)
{
    struct mark_row row = {values[0], (uint32_t)rows->key, (uint32_t)values[1], (uint32_t)values[2]};
    if (rows->columns < 3)
        return ROW_WRONG;
    if (rows->orphaned)
        return ROW_ORPHANED;
    return decode_rows_added(decode, recording_add_mark(decode->recording, &row));
}

enum outcome decode_data_call_event(struct decode *decode, struct rows *rows, const uint64_t *values)
{
    uint32_t node = decode_rows_find(&decode->nodes, values[2]);
    if (rows->columns < 3 || values[1] > values[0])
        return ROW_WRONG;
    if (node == IDS_UNKNOWN || rows->orphaned)
        return ROW_ORPHANED;
    struct call_event_row row = {values[0] - values[1], values[0], (uint32_t)rows->key, node,
                                 (uint32_t)values[3]};
    return decode_rows_added(decode, recording_add_call_event(decode->recording, &row));
}

static uint8_t known_allocator(uint64_t number)
{
    return number >= HEAP_MALLOC && number <= HEAP_GPU ? (uint8_t)number : HEAP_MALLOC;
}

enum outcome decode_data_heap(struct decode *decode, struct rows *rows, const uint64_t *values)
{
    uint32_t node = decode_rows_find(&decode->nodes, values[0]);
    if (rows->columns < 7)
        return ROW_WRONG;
    if (node == IDS_UNKNOWN || rows->orphaned)
        return ROW_ORPHANED;
    struct heap_row row = {.at_ns = values[2],
                           .live_bytes = values[3],
                           .live_count = values[4],
                           .total_bytes = values[5],
                           .total_count = values[6],
                           .peak_bytes = values[7],
                           .peak_count = values[8],
                           .temporary_bytes = values[9],
                           .temporary_count = values[10],
                           .thread = (uint32_t)rows->key,
                           .node = node,
                           .allocator = known_allocator(values[1])};
    return decode_rows_added(decode, recording_add_heap(decode->recording, &row));
}

enum outcome decode_data_heap_size(struct decode *decode, struct rows *rows, const uint64_t *values)
{
    struct heap_size_row row = {values[0], values[1], values[2], (uint32_t)rows->key};
    if (rows->columns < 3)
        return ROW_WRONG;
    if (rows->orphaned)
        return ROW_ORPHANED;
    return decode_rows_added(decode, recording_add_heap_size(decode->recording, &row));
}

enum outcome decode_data_allocation(struct decode *decode, struct rows *rows, const uint64_t *values)
{
    bool is_free = values[2] == HEAP_FREE;
    uint32_t node = is_free ? 0 : decode_rows_find(&decode->nodes, values[4]);
    uint32_t thread = decode_rows_find(&decode->threads, values[5]);
    if (rows->columns < 6)
        return ROW_WRONG;
    if (node == IDS_UNKNOWN || thread == IDS_UNKNOWN || !thread || rows->orphaned)
        return ROW_ORPHANED;
    struct allocation_row row = {.time_ns = values[0],
                                 .address = values[1],
                                 .size_bytes = values[3],
                                 .thread = thread,
                                 .node = node,
                                 .allocator = is_free ? HEAP_FREE : known_allocator(values[2])};
    return decode_rows_added(decode, recording_add_allocation(decode->recording, &row));
}

enum outcome decode_data_line_memory(struct decode *decode, struct rows *rows, const uint64_t *values)
{
    uint32_t code = decode_rows_find(&decode->codes, values[0]);
    if (rows->columns < 5)
        return ROW_WRONG;
    if (code == IDS_UNKNOWN || rows->orphaned)
        return ROW_ORPHANED;
    struct line_memory_row row = {.thread = (uint32_t)rows->key,
                                  .code = code,
                                  .line = (uint32_t)values[1],
                                  .hits = values[2],
                                  .heap_growth_bytes = (int64_t)values[3],
                                  .rss_growth_bytes = (int64_t)values[4],
                                  .heap_bytes = values[5],
                                  .rss_bytes = values[6]};
    return decode_rows_added(decode, recording_add_line_memory(decode->recording, &row));
}
