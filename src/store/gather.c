#include "store/gather.h"

#include <string.h>

#include "base/checksum.h"
#include "base/clock.h"
#include "store/chunk.h"

/* A chunk leaves when its payload reaches this: large enough to compress well, small enough that a damaged
 * one costs little. */
#define SPLIT_BYTES (4u << 20)

#define COLUMNS(letters) letters, sizeof(letters) - 1

/* Columns have the letters of docs/format.md: d and t are written as the difference to the row before, z is
 * signed. */
static const struct {
    uint16_t tag, kind;
    const char *columns;
    uint32_t columns_count;
} shapes[GATHER_COUNT] = {
    [GATHER_STRINGS] = {RECORD_STRINGS, RECORD_KIND_DEFS, COLUMNS("s")},
    [GATHER_CODES] = {RECORD_CODES, RECORD_KIND_DEFS, COLUMNS("sssswuu")},
    [GATHER_NODES] = {RECORD_NODES, RECORD_KIND_DEFS, COLUMNS("www")},
    [GATHER_PROCESSES] = {RECORD_PROCESSES, RECORD_KIND_DEFS, COLUMNS("wuwwssssuuz")},
    [GATHER_THREADS] = {RECORD_THREADS, RECORD_KIND_DEFS, COLUMNS("wwsuuu")},
    [GATHER_CODE_FLAGS] = {RECORD_CODE_FLAGS, RECORD_KIND_DEFS, COLUMNS("wu")},
    [GATHER_CODE_MODULES] = {RECORD_CODE_MODULES, RECORD_KIND_DEFS, COLUMNS("ws")},
    [GATHER_MODULES] = {RECORD_MODULES, RECORD_KIND_DEFS, COLUMNS("ssuu")},
    [GATHER_MAPPINGS] = {RECORD_MAPPINGS, RECORD_KIND_DEFS, COLUMNS("wwuuuu")},
    [GATHER_ADDRESSES] = {RECORD_ADDRESSES, RECORD_KIND_DEFS, COLUMNS("wwu")},
    [GATHER_SYMBOLS] = {RECORD_SYMBOLS, RECORD_KIND_DEFS, COLUMNS("wssww")},
    [GATHER_COUNTERS] = {RECORD_COUNTERS, RECORD_KIND_DEFS, COLUMNS("sswu")},
    [GATHER_REGIONS] = {RECORD_REGIONS, RECORD_KIND_DEFS, COLUMNS("ssww")},
    [GATHER_COMMUNICATORS] = {RECORD_COMMUNICATORS, RECORD_KIND_DEFS, COLUMNS("wuwws")},
    [GATHER_CLOCKS] = {RECORD_CLOCKS, RECORD_KIND_DEFS, COLUMNS("wuzu")},
    [GATHER_METAS] = {RECORD_METAS, RECORD_KIND_INFO, COLUMNS("ss")},
    [GATHER_NOTES] = {RECORD_NOTES, RECORD_KIND_INFO, COLUMNS("wuus")},
    [GATHER_CALLS] = {RECORD_CALLS, RECORD_KIND_CALLS, COLUMNS("duu")},
    [GATHER_LINES] = {RECORD_LINE_TIMES, RECORD_KIND_LINES, COLUMNS("dduuuuu")},
    [GATHER_SAMPLES] = {RECORD_SAMPLES, RECORD_KIND_SAMPLES, COLUMNS("tdtuw")},
    [GATHER_LINE_MEMORY] = {RECORD_LINE_MEMORY, RECORD_KIND_LINES, COLUMNS("dduzzuu")},
    [GATHER_ALLOCATIONS] = {RECORD_ALLOCATIONS, RECORD_KIND_ALLOCATIONS, COLUMNS("ttuudd")},
    [GATHER_HEAP] = {RECORD_HEAP, RECORD_KIND_ALLOCATIONS, COLUMNS("dutuuuuuuuu")},
    [GATHER_HEAP_SIZES] = {RECORD_HEAP_SIZES, RECORD_KIND_ALLOCATIONS, COLUMNS("uuu")},
    [GATHER_SERIES] = {RECORD_SERIES, RECORD_KIND_SERIES, COLUMNS("tt")},
    [GATHER_REGION_EVENTS] = {RECORD_REGION_EVENTS, RECORD_KIND_EVENTS, COLUMNS("twtww")},
    [GATHER_MARKS] = {RECORD_MARKS, RECORD_KIND_EVENTS, COLUMNS("tss")},
    [GATHER_CALL_EVENTS] = {RECORD_CALL_EVENTS, RECORD_KIND_EVENTS, COLUMNS("tudw")},
    [GATHER_MESSAGES] = {RECORD_MESSAGES, RECORD_KIND_MPI, COLUMNS("tuuuuuwdzw")},
    [GATHER_COLLECTIVES] = {RECORD_COLLECTIVES, RECORD_KIND_MPI, COLUMNS("tuuuwtuuwd")},
    [GATHER_MPI_TOTALS] = {RECORD_MPI_TOTALS, RECORD_KIND_MPI, COLUMNS("duwduuuu")},
    [GATHER_FUNCTIONS] = {RECORD_FUNCTIONS, RECORD_KIND_FLAT, COLUMNS("duuuu")},
    [GATHER_EDGES] = {RECORD_EDGES, RECORD_KIND_FLAT, COLUMNS("dwuuuu")},
    [GATHER_SOURCE] = {RECORD_SOURCE, RECORD_KIND_SOURCES, COLUMNS("s")},
    [GATHER_INDEX] = {RECORD_INDEX, RECORD_KIND_END, COLUMNS("tuwuu")},
};

/* Chunk kinds in the order in which they are sent, definitions first. END has its own time. */
static const uint16_t kinds[] = {RECORD_KIND_DEFS,   RECORD_KIND_INFO,    RECORD_KIND_CALLS,
                                 RECORD_KIND_LINES,  RECORD_KIND_SAMPLES, RECORD_KIND_ALLOCATIONS,
                                 RECORD_KIND_SERIES, RECORD_KIND_EVENTS,  RECORD_KIND_MPI,
                                 RECORD_KIND_FLAT,   RECORD_KIND_SOURCES};

static void fail_memory(struct gather *gather)
{
    err_set(&gather->err, "out of memory while writing a recording");
}

static void send(struct gather *gather)
{
    if (gather->out.failed)
        fail_memory(gather);
    if (gather_failed(gather) || gather->out.size == 0)
        return;
    const struct writer_options *options = &gather->options;
    if (options->sink(options->context, gather->out.data, gather->out.size, &gather->err) < 0)
        err_set(&gather->err, "the recording could not be written");
    else
        gather->written_bytes += gather->out.size;
    bytes_reset(&gather->out);
}

void gather_begin(struct gather *gather)
{
    chunk_put_file_header(&gather->out);
    send(gather);
}

void gather_continue(struct gather *gather, uint32_t sequence, uint64_t size_bytes)
{
    gather->sequence = sequence;
    gather->written_bytes = size_bytes;
}

/* ---- chunks ---- */

/* The index is optional: one that grows too large for a chunk just ends. */
static void add_to_index(struct gather *gather, const struct chunk *chunk, uint64_t offset)
{
    if (gather->open[GATHER_INDEX].rows.size < RECORD_CHUNK_MAX / 2)
        gather_row(gather, GATHER_INDEX, 0,
                   (uint64_t[]){offset, chunk->kind, chunk->process, chunk->rows, chunk->clock_ns});
}

void gather_place(struct gather *gather, const uint8_t *headers, size_t size)
{
    struct gather_record *index = &gather->open[GATHER_INDEX];
    bytes_reset(&index->rows);
    index->count = 0;
    gather->chunks[RECORD_KIND_END].gathered_bytes = 0;
    gather_continue(gather, 0, CHUNK_FILE_BYTES);
    for (size_t at = 0; at + CHUNK_HEADER_BYTES <= size; at += CHUNK_HEADER_BYTES) {
        struct chunk chunk;
        if (!chunk_get(headers + at, &chunk)) {
            err_set(&gather->err, "a chunk of the recording has no header");
            return;
        }
        add_to_index(gather, &chunk, gather->written_bytes);
        gather_continue(gather, chunk.sequence + 1,
                        gather->written_bytes + CHUNK_HEADER_BYTES + chunk.stored_bytes);
    }
}

/* The payload as it will be stored: compressed when that is smaller. */
static struct bytes *pack(struct gather *gather, struct bytes *payload, struct chunk *chunk)
{
    struct bytes *packed = &gather->packed;
    bytes_reset(packed);
    if (!gather->options.compress || chunk->kind == RECORD_KIND_END || !bytes_reserve(packed, payload->size))
        return payload;
    packed->size = gather->options.compress(payload->data, payload->size, packed->data, payload->size);
    if (packed->size == 0 || packed->size >= payload->size)
        return payload;
    chunk->compression = CHUNK_ZSTD;
    return packed;
}

static void close_chunk(struct gather *gather, uint16_t kind, uint32_t process)
{
    struct gather_chunk *gathered = &gather->chunks[kind];
    struct bytes *payload = &gathered->payload;
    if (payload->failed)
        fail_memory(gather);
    else if (payload->size > RECORD_CHUNK_MAX)
        err_set(&gather->err, "a chunk of %zu bytes is larger than the format allows", payload->size);
    if (gather_failed(gather))
        return;
    struct chunk chunk = {.kind = kind,
                          .compression = CHUNK_RAW,
                          .sequence = gather->sequence++,
                          .process = process,
                          .clock_ns = gather->clock.is_set ? gather->clock.clock_ns : clock_monotonic_ns(),
                          .real_ns = gather->clock.is_set ? gather->clock.real_ns : clock_real_ns(),
                          .first_ns = gathered->first_ns,
                          .raw_bytes = (uint32_t)payload->size,
                          .rows = gathered->rows};
    struct bytes *stored = pack(gather, payload, &chunk);
    chunk.stored_bytes = (uint32_t)stored->size;
    chunk.checksum = checksum_crc32c(0, stored->data, stored->size);
    if (kind != RECORD_KIND_END)
        add_to_index(gather, &chunk, gather->written_bytes + gather->out.size);
    gathered->stored_bytes += CHUNK_HEADER_BYTES + stored->size;
    chunk_put(&gather->out, &chunk);
    bytes_put(&gather->out, stored->data, stored->size);
    bytes_reset(payload);
    gathered->rows = 0;
    gathered->gathered_bytes = 0;
    gathered->first_ns = 0;
}

static void close_record(struct gather *gather, enum gather_table table)
{
    struct gather_record *record = &gather->open[table];
    struct gather_chunk *chunk = &gather->chunks[shapes[table].kind];
    if (record->count == 0)
        return;
    struct bytes head = {0};
    bytes_put_varint(&head, record->columns);
    bytes_put_varint(&head, record->key);
    bytes_put_varint(&chunk->payload, shapes[table].tag);
    bytes_put_varint(&chunk->payload, head.size + record->rows.size);
    bytes_put(&chunk->payload, head.data, head.size);
    bytes_put(&chunk->payload, record->rows.data, record->rows.size);
    if (head.failed || record->rows.failed)
        fail_memory(gather);
    bytes_clear(&head);
    bytes_reset(&record->rows);
    chunk->rows += record->count;
    record->count = 0;
}

static bool is_of_process(uint16_t kind)
{
    return kind == RECORD_KIND_CALLS || kind == RECORD_KIND_LINES || kind == RECORD_KIND_SAMPLES ||
           kind == RECORD_KIND_ALLOCATIONS || kind == RECORD_KIND_EVENTS || kind == RECORD_KIND_MPI;
}

int gather_flush(struct gather *gather)
{
    for (enum gather_table table = 0; table < GATHER_INDEX; table++)
        close_record(gather, table);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const struct bytes *payload = &gather->chunks[kinds[i]].payload;
        if (payload->size || payload->failed)
            close_chunk(gather, kinds[i], is_of_process(kinds[i]) ? gather->data_process : 0);
    }
    send(gather);
    return gather_failed(gather) ? -1 : 0;
}

/* The file's last eight bytes say where its END chunk begins, so that the index is found without a search. */
void gather_end(struct gather *gather)
{
    if (gather_flush(gather) < 0)
        return;
    close_record(gather, GATHER_INDEX);
    struct bytes *payload = &gather->chunks[RECORD_KIND_END].payload;
    bytes_put_varint(payload, RECORD_END_OFFSET);
    bytes_put_varint(payload, 8);
    bytes_put_u64(payload, gather->written_bytes);
    close_chunk(gather, RECORD_KIND_END, 0);
    send(gather);
}

/* ---- rows ---- */

/* A different key, or number of columns, closes the record that is open. */
static struct gather_record *open_record(struct gather *gather, enum gather_table table, uint64_t key,
                                         uint32_t columns)
{
    struct gather_record *record = &gather->open[table];
    if (record->count && (record->key != key || record->columns != columns))
        close_record(gather, table);
    if (record->count++ == 0) {
        record->key = key;
        record->columns = columns;
        memset(record->previous, 0, sizeof record->previous);
    }
    return record;
}

static void flush_when_large(struct gather *gather, enum gather_table table, size_t row_bytes)
{
    size_t *gathered_bytes = &gather->chunks[shapes[table].kind].gathered_bytes;
    *gathered_bytes += row_bytes;
    if (*gathered_bytes >= SPLIT_BYTES && table != GATHER_INDEX)
        gather_flush(gather);
}

/* The number that is written for a value. */
static uint64_t encoded(struct gather_record *record, char column, unsigned place, uint64_t value)
{
    if (column == 'z')
        return bytes_zigzag((int64_t)value);
    if (column != 'd' && column != 't')
        return value;
    uint64_t difference = value - record->previous[place];
    record->previous[place] = value;
    return bytes_zigzag((int64_t)difference);
}

void gather_short_row(struct gather *gather, enum gather_table table, uint64_t key, const uint64_t *values,
                      uint32_t columns)
{
    struct gather_record *record = open_record(gather, table, key, columns);
    struct bytes *rows = &record->rows;
    if (!bytes_reserve(rows, (size_t)columns * BYTES_VARINT_MAX))
        return; /* which is told when the record is closed */
    uint8_t *begin = rows->data + rows->size, *at = begin;
    for (unsigned i = 0; i < columns; i++)
        at = bytes_encode_varint(at, encoded(record, shapes[table].columns[i], i, values[i]));
    rows->size += (size_t)(at - begin);
    flush_when_large(gather, table, (size_t)(at - begin));
}

void gather_row(struct gather *gather, enum gather_table table, uint64_t key, const uint64_t *values)
{
    gather_short_row(gather, table, key, values, shapes[table].columns_count);
}

/* Ids are given in order, so those that follow the first of a record need not be written. */
static uint64_t first_id(const struct gather *gather, enum gather_table table, uint32_t id)
{
    return gather->open[table].count ? gather->open[table].key : id;
}

void gather_definition(struct gather *gather, enum gather_table table, uint32_t id, const uint64_t *values)
{
    gather_row(gather, table, first_id(gather, table, id), values);
}

void gather_string(struct gather *gather, uint32_t id, const char *text, size_t size)
{
    uint64_t key = first_id(gather, GATHER_STRINGS, id);
    bytes_put_counted(&open_record(gather, GATHER_STRINGS, key, 1)->rows, text, size);
    flush_when_large(gather, GATHER_STRINGS, size);
}

void gather_source(struct gather *gather, uint32_t file, const void *text, size_t size)
{
    close_record(gather, GATHER_SOURCE);
    bytes_put_counted(&open_record(gather, GATHER_SOURCE, file, 1)->rows, text, size);
    flush_when_large(gather, GATHER_SOURCE, size);
}

void gather_data_of(struct gather *gather, uint32_t process)
{
    if (process == gather->data_process)
        return;
    size_t waiting = 0;
    for (uint16_t kind = 0; kind < GATHER_KINDS; kind++)
        waiting += is_of_process(kind) ? gather->chunks[kind].gathered_bytes : 0;
    if (waiting)
        gather_flush(gather);
    gather->data_process = process;
}

void gather_time(struct gather *gather, enum record_kind kind, uint64_t time_ns)
{
    uint64_t *first_ns = &gather->chunks[kind].first_ns;
    if (*first_ns == 0 || time_ns < *first_ns)
        *first_ns = time_ns;
}

void gather_clear(struct gather *gather)
{
    for (enum gather_table table = 0; table < GATHER_COUNT; table++)
        bytes_clear(&gather->open[table].rows);
    for (size_t kind = 0; kind < GATHER_KINDS; kind++)
        bytes_clear(&gather->chunks[kind].payload);
    bytes_clear(&gather->packed);
    bytes_clear(&gather->out);
}
