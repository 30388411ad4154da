#include "store/decode.h"

#include <string.h>

#include "base/err.h"
#include "store/decode_rows.h"
#include "store/record.h"
#include "store/recording.h"

#define SUMMED_SLACK (1u << 20)

/* What a row's name becomes when the string was in a damaged chunk: the row's numbers are still good. */
#define LOST_TEXT "(lost)"

void decode_clear(struct decode *decode)
{
    ids_clear(&decode->strings);
    ids_clear(&decode->codes);
    ids_clear(&decode->nodes);
    ids_clear(&decode->processes);
    ids_clear(&decode->threads);
    ids_clear(&decode->modules);
    ids_clear(&decode->counters);
    ids_clear(&decode->communicators);
    ids_clear(&decode->regions);
}

bool decode_keeps_ids(const struct decode *decode)
{
    const struct recording *recording = decode->recording;
    return ids_are_equal(&decode->strings) && ids_are_equal(&decode->codes) &&
           ids_are_equal(&decode->modules) && ids_next(&decode->strings) == recording->strings.count;
}

/* Enters the row just added (own id 0 = adding failed) under the next id of the run. */
static enum outcome define_next(struct decode *decode, struct ids *ids, struct rows *rows, uint32_t own_id)
{
    if (own_id == 0 || !ids_define(ids, (uint32_t)rows->key, own_id))
        return decode_rows_out_of_memory(decode);
    rows->key++;
    return ROW_USED;
}

/* Runs of definitions only ever go forward: an id that was given, or passed over, cannot be given again. */
static bool may_define(const struct ids *ids, const struct rows *rows)
{
    return rows->key >= ids_next(ids) && rows->key <= RECORD_ID_MAX;
}

/* ---- definitions ---- */

static enum outcome read_string(struct decode *decode, struct rows *rows)
{
    struct strings *strings = &decode->recording->strings;
    struct cursor text = cursor_get_counted(&rows->cursor);
    if (rows->cursor.failed || cursor_left(&text) == 0 || cursor_left(&text) > RECORD_STRING_MAX ||
        !may_define(&decode->strings, rows))
        return ROW_WRONG;
    uint32_t before = strings->count;
    uint32_t own_id = strings_intern(strings, (const char *)text.at, cursor_left(&text));
    if (own_id == UINT32_MAX)
        return decode_rows_out_of_memory(decode);
    if (own_id < before && strcmp(strings_text(strings, own_id), LOST_TEXT) != 0)
        return ROW_WRONG; /* a writer defines each string once */
    return define_next(decode, &decode->strings, rows, own_id);
}

static enum outcome read_code(struct decode *decode, struct rows *rows, const uint64_t *values)
{
    bool known_kind = values[5] >= CODE_PYTHON && values[5] <= CODE_OTHER;
    struct code code = {.name = (uint32_t)values[0],
                        .qualname = (uint32_t)values[1],
                        .file = (uint32_t)values[2],
                        .module = (uint32_t)values[3],
                        .line = (uint32_t)values[4],
                        .kind = known_kind ? (uint8_t)values[5] : CODE_OTHER,
                        .flags = (uint8_t)values[6]};
    if (!may_define(&decode->codes, rows))
        return ROW_WRONG;
    return define_next(decode, &decode->codes, rows, recording_add_code(decode->recording, &code));
}

static enum outcome read_node(struct decode *decode, struct rows *rows, const uint64_t *values)
{
    if (!may_define(&decode->nodes, rows) || values[0] == 0 || values[0] > rows->key)
        return ROW_WRONG;
    struct node node = {.parent = decode_rows_find(&decode->nodes, rows->key - values[0]),
                        .code = decode_rows_find(&decode->codes, values[1]),
                        .line = (uint32_t)values[2]};
    if (node.parent == IDS_UNKNOWN || node.code == IDS_UNKNOWN) {
        rows->key++;
        return ROW_ORPHANED;
    }
    return define_next(decode, &decode->nodes, rows, recording_add_node(decode->recording, &node));
}

static int32_t exit_code(int64_t value)
{
    return value >= INT32_MIN && value <= INT32_MAX ? (int32_t)value : INT32_MIN;
}

/* Where the row with this explicit id goes: its own id when it is an update, 0 when it is new. */
static uint32_t find_or_new(struct ids *ids, struct rows *rows, uint64_t file_id)
{
    uint32_t own_id = decode_rows_find(ids, file_id);
    if (own_id != IDS_UNKNOWN)
        return own_id;
    rows->key = file_id;
    return may_define(ids, rows) ? 0 : IDS_UNKNOWN;
}

static enum outcome read_process(struct decode *decode, struct rows *rows, const uint64_t *values)
{
    struct recording *recording = decode->recording;
    uint32_t own_id = find_or_new(&decode->processes, rows, values[0]);
    if (values[0] == 0 || values[0] > RECORD_ID_MAX)
        return ROW_WRONG;
    if (own_id == IDS_UNKNOWN)
        return ROW_ORPHANED;
    struct process process = {.pid = values[1],
                              .parent = decode_rows_find(&decode->processes, values[2]),
                              .rank = (uint32_t)values[3] - 1,
                              .host = (uint32_t)values[4],
                              .command = (uint32_t)values[5],
                              .python = (uint32_t)values[6],
                              .exe = (uint32_t)values[7],
                              .start_ns = values[8],
                              .end_ns = values[9],
                              .exit_code = exit_code((int64_t)values[10])};
    if (process.parent >= (own_id ? own_id : recording->processes_count))
        process.parent = 0;
    if (own_id == 0)
        return define_next(decode, &decode->processes, rows, recording_add_process(recording, &process));
    recording->processes[own_id] = process;
    return ROW_USED;
}

static enum outcome read_thread(struct decode *decode, struct rows *rows, const uint64_t *values)
{
    struct recording *recording = decode->recording;
    uint32_t own_id = find_or_new(&decode->threads, rows, values[0]);
    struct thread thread = {.process = decode_rows_find(&decode->processes, values[1]),
                            .name = (uint32_t)values[2],
                            .tid = values[3],
                            .start_ns = values[4],
                            .end_ns = values[5]};
    if (values[0] == 0 || values[0] > RECORD_ID_MAX)
        return ROW_WRONG;
    if (own_id == IDS_UNKNOWN || thread.process == IDS_UNKNOWN)
        return ROW_ORPHANED;
    if (own_id == 0)
        return define_next(decode, &decode->threads, rows, recording_add_thread(recording, &thread));
    recording->threads[own_id] = thread;
    return ROW_USED;
}

/* A code that was defined before, of which more is said; NULL is in *code for the one that is none. */
static enum outcome find_code(struct decode *decode, uint64_t id, struct code **code)
{
    uint32_t own_id = decode_rows_find(&decode->codes, id);
    *code = own_id && own_id != IDS_UNKNOWN ? &decode->recording->codes[own_id] : NULL;
    return own_id == IDS_UNKNOWN ? ROW_ORPHANED : ROW_USED;
}

static enum outcome read_code_flags(struct decode *decode, struct rows *rows, const uint64_t *values)
{
    (void)rows;
    struct code *code;
    enum outcome outcome = find_code(decode, values[0], &code);
    if (code)
        code->flags |= (uint8_t)values[1];
    return outcome;
}

static enum outcome read_code_module(struct decode *decode, struct rows *rows, const uint64_t *values)
{
    (void)rows;
    struct code *code;
    enum outcome outcome = find_code(decode, values[0], &code);
    if (code)
        code->module = (uint32_t)values[1];
    return outcome;
}

static enum outcome read_module(struct decode *decode, struct rows *rows, const uint64_t *values)
{
    struct module module = {.path = (uint32_t)values[0],
                            .build_id = (uint32_t)values[1],
                            .size_bytes = values[2],
                            .flags = (uint8_t)values[3]};
    if (!may_define(&decode->modules, rows))
        return ROW_WRONG;
    return define_next(decode, &decode->modules, rows, recording_add_module(decode->recording, &module));
}

/* These and symbols say little in many columns: so many at least, that a hostile byte does not buy a row. */
static enum outcome read_mapping(struct decode *decode, struct rows *rows, const uint64_t *values)
{
    struct mapping mapping = {.process = decode_rows_find(&decode->processes, values[0]),
                              .module = decode_rows_find(&decode->modules, values[1]),
                              .start = values[2],
                              .end = values[3],
                              .file_offset = values[4],
                              .since_ns = values[5]};
    if (rows->columns < 5)
        return ROW_WRONG;
    if (mapping.process == IDS_UNKNOWN || mapping.module == IDS_UNKNOWN)
        return ROW_ORPHANED;
    return decode_rows_added(decode, recording_add_mapping(decode->recording, &mapping));
}

static enum outcome read_address(struct decode *decode, struct rows *rows, const uint64_t *values)
{
    (void)rows;
    struct code_address address = {decode_rows_find(&decode->codes, values[0]),
                                   decode_rows_find(&decode->modules, values[1]), values[2]};
    if (address.code == IDS_UNKNOWN || address.module == IDS_UNKNOWN)
        return ROW_ORPHANED;
    return decode_rows_added(decode, recording_add_address(decode->recording, &address));
}

static enum outcome read_symbol(struct decode *decode, struct rows *rows, const uint64_t *values)
{
    struct symbol symbol = {.code = decode_rows_find(&decode->codes, values[0]),
                            .name = (uint32_t)values[1],
                            .file = (uint32_t)values[2],
                            .line = (uint32_t)values[3],
                            .inlined_in = decode_rows_find(&decode->codes, values[4])};
    if (rows->columns < 4)
        return ROW_WRONG;
    if (symbol.code == IDS_UNKNOWN || symbol.inlined_in == IDS_UNKNOWN)
        return ROW_ORPHANED;
    return decode_rows_added(decode, recording_add_symbol(decode->recording, &symbol));
}

static enum outcome read_counter(struct decode *decode, struct rows *rows, const uint64_t *values)
{
    uint32_t process = decode_rows_find(&decode->processes, values[2]);
    struct counter counter = {
        .name = (uint32_t)values[0],
        .unit = (uint32_t)values[1],
        .process = process == IDS_UNKNOWN ? 0 : process,
        .kind = values[3] == COUNTER_SUM || values[3] == COUNTER_REAL ? (uint8_t)values[3] : COUNTER_LEVEL};
    if (!may_define(&decode->counters, rows))
        return ROW_WRONG;
    return define_next(decode, &decode->counters, rows, recording_add_counter(decode->recording, &counter));
}

static enum outcome read_region(struct decode *decode, struct rows *rows, const uint64_t *values)
{
    uint32_t code = decode_rows_find(&decode->codes, values[2]);
    struct region region = {.name = (uint32_t)values[0],
                            .group = (uint32_t)values[1],
                            .code = code == IDS_UNKNOWN ? 0 : code,
                            .color = (uint32_t)values[3]};
    if (!may_define(&decode->regions, rows))
        return ROW_WRONG;
    return define_next(decode, &decode->regions, rows, recording_add_region(decode->recording, &region));
}

static enum outcome read_communicator(struct decode *decode, struct rows *rows, const uint64_t *values)
{
    uint32_t process = decode_rows_find(&decode->processes, values[0]);
    struct communicator communicator = {.key = values[1],
                                        .process = process == IDS_UNKNOWN ? 0 : process,
                                        .size = (uint32_t)values[2],
                                        .rank = (uint32_t)values[3],
                                        .name = (uint32_t)values[4]};
    if (!may_define(&decode->communicators, rows))
        return ROW_WRONG;
    return define_next(decode, &decode->communicators, rows,
                       recording_add_communicator(decode->recording, &communicator));
}

/* ---- tables ---- */

/* Columns: u = any number, z = signed, w = at most 32 bits, s = string, d and t = 32 and 64 bits as the
 * difference to the row before. */
static const struct table {
    uint16_t tag;
    const char *columns;
    row_reader *read;
} tables[] = {
    {RECORD_CODES, "sssswuu", read_code},
    {RECORD_NODES, "www", read_node},
    {RECORD_PROCESSES, "wuwwssssuuz", read_process},
    {RECORD_THREADS, "wwsuuu", read_thread},
    {RECORD_CODE_FLAGS, "wu", read_code_flags},
    {RECORD_CODE_MODULES, "ws", read_code_module},
    {RECORD_MODULES, "ssuu", read_module},
    {RECORD_MAPPINGS, "wwuuuu", read_mapping},
    {RECORD_ADDRESSES, "wwu", read_address},
    {RECORD_SYMBOLS, "wssww", read_symbol},
    {RECORD_COUNTERS, "sswu", read_counter},
    {RECORD_REGIONS, "ssww", read_region},
    {RECORD_COMMUNICATORS, "wuwws", read_communicator},
    {RECORD_CLOCKS, "wuzu", decode_mpi_clock},
    {RECORD_METAS, "ss", decode_data_meta},
    {RECORD_NOTES, "wuus", decode_data_note},
    {RECORD_CALLS, "duu", decode_data_calls},
    {RECORD_LINE_TIMES, "dduuuuu", decode_data_line},
    {RECORD_SAMPLES, "tdtuw", decode_data_sample},
    {RECORD_LINE_MEMORY, "dduzzuu", decode_data_line_memory},
    {RECORD_ALLOCATIONS, "ttuudd", decode_data_allocation},
    {RECORD_HEAP, "dutuuuuuuuu", decode_data_heap},
    {RECORD_HEAP_SIZES, "uuu", decode_data_heap_size},
    {RECORD_SERIES, "tt", decode_data_series},
    {RECORD_REGION_EVENTS, "twtww", decode_data_region_event},
    {RECORD_MARKS, "tss", decode_data_mark},
    {RECORD_CALL_EVENTS, "tudw", decode_data_call_event},
    {RECORD_MESSAGES, "tuuuuuwdzw", decode_mpi_message},
    {RECORD_COLLECTIVES, "tuuuwtuuwd", decode_mpi_collective},
    {RECORD_MPI_TOTALS, "duwduuuu", decode_mpi_total},
    {RECORD_FUNCTIONS, "duuuu", decode_data_function},
    {RECORD_EDGES, "dwuuuu", decode_data_edge},
};

static const struct table *find_table(uint64_t tag)
{
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        if (tables[i].tag == tag)
            return &tables[i];
    }
    return NULL;
}

static uint64_t own_string(struct decode *decode, uint64_t file_id)
{
    uint32_t own_id = decode_rows_find(&decode->strings, file_id);
    if (own_id != IDS_UNKNOWN)
        return own_id;
    own_id = strings_intern_text(&decode->recording->strings, LOST_TEXT);
    decode->out_of_memory |= own_id == UINT32_MAX;
    return own_id;
}

static uint64_t unzigzag(uint64_t value)
{
    return (value >> 1) ^ (0 - (value & 1));
}

/* What a column says, once it was read; the most common letters first. False when it cannot be. */
static bool resolve(struct decode *decode, struct rows *rows, unsigned column, char letter, uint64_t *value)
{
    if (letter == 'u')
        return true;
    if (letter == 'w')
        return *value <= RECORD_ID_MAX;
    if (letter == 's') {
        bool good = *value <= RECORD_ID_MAX;
        *value = good ? own_string(decode, *value) : 0;
        return good;
    }
    *value = unzigzag(*value);
    if (letter == 'z')
        return true;
    *value = rows->previous[column] += *value;
    return letter == 't' || *value <= RECORD_ID_MAX;
}

static enum outcome read_row(struct decode *decode, const struct table *table, struct rows *rows)
{
    uint64_t values[DECODE_ROWS_COLUMNS_MAX];
    uint64_t shared = rows->columns < rows->known ? rows->columns : rows->known;
    bool good = true;
    for (unsigned i = 0; i < shared; i++) {
        uint64_t value = cursor_get_varint(&rows->cursor);
        good &= resolve(decode, rows, i, table->columns[i], &value);
        values[i] = value;
    }
    for (uint64_t i = shared; i < rows->columns; i++)
        cursor_get_varint(&rows->cursor); /* of a newer writer */
    for (uint64_t i = shared; i < rows->known; i++)
        values[i] = 0; /* an older one did not have the column */
    if (rows->cursor.failed || !good || decode->out_of_memory)
        return ROW_WRONG;
    return table->read(decode, rows, values);
}

/* What the key of a record names; NULL when it is the id of the first row, or nothing. */
static struct ids *named_by_key(struct decode *decode, uint64_t tag)
{
    switch (tag) {
    case RECORD_CALLS:
    case RECORD_LINE_TIMES:
    case RECORD_SAMPLES:
    case RECORD_LINE_MEMORY:
    case RECORD_HEAP:
    case RECORD_REGION_EVENTS:
    case RECORD_MARKS:
    case RECORD_MESSAGES:
    case RECORD_COLLECTIVES:
    case RECORD_MPI_TOTALS:
    case RECORD_CALL_EVENTS:
        return &decode->threads;
    case RECORD_ALLOCATIONS:
    case RECORD_HEAP_SIZES:
        return &decode->processes;
    case RECORD_SERIES:
        return &decode->counters;
    case RECORD_SOURCE:
        return &decode->strings;
    default:
        return NULL;
    }
}

static void resolve_key(struct decode *decode, struct rows *rows, uint64_t tag)
{
    struct ids *ids = named_by_key(decode, tag);
    if (!ids)
        return;
    uint32_t own_id = decode_rows_find(ids, rows->key);
    rows->orphaned = own_id == IDS_UNKNOWN;
    rows->key = own_id;
}

static enum outcome read_text_row(struct decode *decode, struct rows *rows, uint64_t tag)
{
    return tag == RECORD_SOURCE ? decode_data_source(decode, rows) : read_string(decode, rows);
}

static bool read_record(struct decode *decode, uint64_t tag, struct cursor body)
{
    const struct table *table = find_table(tag);
    if (!table && tag != RECORD_STRINGS && tag != RECORD_SOURCE) {
        decode->unknown_records += tag != RECORD_INDEX && tag != RECORD_END_OFFSET;
        return true;
    }
    struct rows rows = {.columns = cursor_get_varint_max(&body, DECODE_ROWS_COLUMNS_MAX),
                        .known = table ? strlen(table->columns) : 1,
                        .key = cursor_get_varint_max(&body, RECORD_ID_MAX)};
    rows.cursor = body;
    resolve_key(decode, &rows, tag);
    if (body.failed || rows.columns == 0)
        return false;
    while (cursor_left(&rows.cursor)) {
        enum outcome outcome = table ? read_row(decode, table, &rows) : read_text_row(decode, &rows, tag);
        if (outcome == ROW_WRONG)
            return false;
        decode->orphaned_rows += outcome == ROW_ORPHANED;
    }
    return true;
}

/* Later rows add to earlier ones: summing now and then keeps a long run's checkpoints from piling up. */
static void compact(struct decode *decode)
{
    struct recording *recording = decode->recording;
    if (recording->calls_count / 2 >= decode->calls_compacted + SUMMED_SLACK) {
        decode->out_of_memory |= recording_compact_calls(recording, NULL) < 0;
        decode->calls_compacted = recording->calls_count;
    }
    if (recording->lines_count / 2 >= decode->lines_compacted + SUMMED_SLACK) {
        recording_compact_lines(recording);
        decode->lines_compacted = recording->lines_count;
    }
}

bool decode_payload(struct decode *decode, const uint8_t *data, size_t size)
{
    struct cursor cursor = cursor_on(data, size);
    bool good = true;
    while (good && cursor_left(&cursor)) {
        uint64_t tag = cursor_get_varint_max(&cursor, RECORD_TAG_MAX);
        struct cursor body = cursor_get_counted(&cursor);
        good = !cursor.failed && read_record(decode, tag, body);
    }
    compact(decode);
    return good && !decode->out_of_memory;
}
