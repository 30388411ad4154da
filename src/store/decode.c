#include "store/decode.h"

#include <string.h>

#include "base/cursor.h"
#include "base/err.h"
#include "store/record.h"
#include "store/recording.h"

/* A table may have more columns than we know (a newer writer) or fewer (an older one), within reason. */
#define COLUMNS_MAX 64
/* Putting a meta searches the others: a hostile number of them must not cost its square. */
#define META_ROWS_MAX 16384
/* The same goes for files with their text, which are found by searching. */
#define SOURCE_ROWS_MAX 16384
#define SUMMED_SLACK    (1u << 20)

/* What a row's name becomes when the string was in a damaged chunk: the row's numbers are still good. */
#define LOST_TEXT "(lost)"

/* One table record while its rows are read. */
struct rows {
    struct cursor cursor;
    uint64_t columns;
    uint64_t key;                   /* the record's own: a thread, or the id of the next row */
    uint64_t previous[COLUMNS_MAX]; /* the row before, for difference columns */
    bool orphaned;                  /* the key itself was lost */
};

/* What became of a row. */
enum outcome { ROW_USED, ROW_ORPHANED, ROW_WRONG };

/* `values` hold the columns as the letters of the table say. */
typedef enum outcome row_reader(struct decode *decode, struct rows *rows, const uint64_t *values);

void decode_clear(struct decode *decode)
{
    ids_clear(&decode->strings);
    ids_clear(&decode->codes);
    ids_clear(&decode->nodes);
    ids_clear(&decode->processes);
    ids_clear(&decode->threads);
    ids_clear(&decode->modules);
}

bool decode_keeps_ids(const struct decode *decode)
{
    const struct recording *recording = decode->recording;
    return ids_are_equal(&decode->strings) && ids_are_equal(&decode->codes) &&
           ids_are_equal(&decode->modules) && ids_next(&decode->strings) == recording->strings.count;
}

static enum outcome out_of_memory(struct decode *decode)
{
    decode->out_of_memory = true;
    return ROW_WRONG;
}

static uint32_t find(struct ids *ids, uint64_t file_id)
{
    return file_id == 0 ? 0 : ids_find(ids, (uint32_t)file_id);
}

/* Enters the row just added (own id 0 = adding failed) under the next id of the run. */
static enum outcome define_next(struct decode *decode, struct ids *ids, struct rows *rows, uint32_t own_id)
{
    if (own_id == 0 || !ids_define(ids, (uint32_t)rows->key, own_id))
        return out_of_memory(decode);
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
        return out_of_memory(decode);
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
    struct node node = {.parent = find(&decode->nodes, rows->key - values[0]),
                        .code = find(&decode->codes, values[1]),
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
    uint32_t own_id = find(ids, file_id);
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
                              .parent = find(&decode->processes, values[2]),
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
    struct thread thread = {.process = find(&decode->processes, values[1]),
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

static enum outcome read_code_flags(struct decode *decode, struct rows *rows, const uint64_t *values)
{
    (void)rows;
    uint32_t own_id = find(&decode->codes, values[0]);
    if (own_id == IDS_UNKNOWN)
        return ROW_ORPHANED;
    if (own_id)
        decode->recording->codes[own_id].flags |= (uint8_t)values[1];
    return ROW_USED;
}

static enum outcome added(struct decode *decode, uint32_t row)
{
    return row == UINT32_MAX ? out_of_memory(decode) : ROW_USED;
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
    struct mapping mapping = {.process = find(&decode->processes, values[0]),
                              .module = find(&decode->modules, values[1]),
                              .start = values[2],
                              .end = values[3],
                              .file_offset = values[4],
                              .since_ns = values[5]};
    if (rows->columns < 5)
        return ROW_WRONG;
    if (mapping.process == IDS_UNKNOWN || mapping.module == IDS_UNKNOWN)
        return ROW_ORPHANED;
    return added(decode, recording_add_mapping(decode->recording, &mapping));
}

static enum outcome read_address(struct decode *decode, struct rows *rows, const uint64_t *values)
{
    (void)rows;
    struct code_address address = {find(&decode->codes, values[0]), find(&decode->modules, values[1]),
                                   values[2]};
    if (address.code == IDS_UNKNOWN || address.module == IDS_UNKNOWN)
        return ROW_ORPHANED;
    return added(decode, recording_add_address(decode->recording, &address));
}

static enum outcome read_symbol(struct decode *decode, struct rows *rows, const uint64_t *values)
{
    struct symbol symbol = {.code = find(&decode->codes, values[0]),
                            .name = (uint32_t)values[1],
                            .file = (uint32_t)values[2],
                            .line = (uint32_t)values[3],
                            .inlined_in = find(&decode->codes, values[4])};
    if (rows->columns < 4)
        return ROW_WRONG;
    if (symbol.code == IDS_UNKNOWN || symbol.inlined_in == IDS_UNKNOWN)
        return ROW_ORPHANED;
    return added(decode, recording_add_symbol(decode->recording, &symbol));
}

/* ---- data ---- */

static enum outcome read_meta(struct decode *decode, struct rows *rows, const uint64_t *values)
{
    (void)rows;
    if (decode->meta_rows++ >= META_ROWS_MAX)
        return ROW_WRONG;
    struct meta meta = {(uint32_t)values[0], (uint32_t)values[1]};
    return added(decode, (uint32_t)recording_put_meta(decode->recording, meta));
}

static enum outcome read_note(struct decode *decode, struct rows *rows, const uint64_t *values)
{
    (void)rows;
    uint32_t process = find(&decode->processes, values[0]);
    bool known_kind = values[1] >= NOTE_LOSS && values[1] <= NOTE_REMARK;
    struct note note = {.process = process == IDS_UNKNOWN ? 0 : process,
                        .kind = known_kind ? (uint8_t)values[1] : (uint8_t)NOTE_WARNING,
                        .count = values[2],
                        .text = (uint32_t)values[3]};
    return added(decode, recording_add_note(decode->recording, &note));
}

static enum outcome read_calls(struct decode *decode, struct rows *rows, const uint64_t *values)
{
    uint32_t node = find(&decode->nodes, values[0]);
    if (node == IDS_UNKNOWN || rows->orphaned)
        return ROW_ORPHANED;
    struct call_row row = {(uint32_t)rows->key, node, values[1], values[2]};
    return added(decode, recording_add_calls(decode->recording, &row));
}

/* Four columns at least, here and in samples, so that a hostile byte does not buy a whole row. */
static enum outcome read_line(struct decode *decode, struct rows *rows, const uint64_t *values)
{
    uint32_t code = find(&decode->codes, values[0]);
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
    return added(decode, recording_add_line(decode->recording, &row));
}

static enum outcome read_sample(struct decode *decode, struct rows *rows, const uint64_t *values)
{
    uint32_t node = find(&decode->nodes, values[1]);
    if (rows->columns < 4)
        return ROW_WRONG;
    if (node == IDS_UNKNOWN || rows->orphaned)
        return ROW_ORPHANED;
    struct sample_row row = {.time_ns = values[0],
                             .weight_ns = values[2],
                             .thread = (uint32_t)rows->key,
                             .node = node,
                             .count = values[4] ? (uint32_t)values[4] : 1,
                             .state = (uint8_t)values[3]};
    return added(decode, recording_add_sample(decode->recording, &row));
}

static enum outcome read_function(struct decode *decode, struct rows *rows, const uint64_t *values)
{
    (void)rows;
    struct flat_function row = {find(&decode->codes, values[0]), values[1], values[2], values[3], values[4]};
    if (row.code == IDS_UNKNOWN)
        return ROW_ORPHANED;
    return added(decode, recording_add_function(decode->recording, &row));
}

static enum outcome read_edge(struct decode *decode, struct rows *rows, const uint64_t *values)
{
    (void)rows;
    struct flat_edge row = {.caller = find(&decode->codes, values[0]),
                            .callee = find(&decode->codes, values[1]),
                            .calls = values[2],
                            .primitive_calls = values[3],
                            .self_ns = values[4],
                            .total_ns = values[5]};
    if (row.caller == IDS_UNKNOWN || row.callee == IDS_UNKNOWN)
        return ROW_ORPHANED;
    return added(decode, recording_add_edge(decode->recording, &row));
}

static enum outcome read_source(struct decode *decode, struct rows *rows)
{
    struct cursor text = cursor_get_counted(&rows->cursor);
    if (rows->cursor.failed || cursor_left(&text) > RECORD_SOURCE_MAX ||
        decode->source_rows++ >= SOURCE_ROWS_MAX)
        return ROW_WRONG;
    if (rows->orphaned)
        return ROW_ORPHANED;
    return added(decode,
                 recording_add_source(decode->recording, (uint32_t)rows->key, text.at, cursor_left(&text)));
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
    {RECORD_MODULES, "ssuu", read_module},
    {RECORD_MAPPINGS, "wwuuuu", read_mapping},
    {RECORD_ADDRESSES, "wwu", read_address},
    {RECORD_SYMBOLS, "wssww", read_symbol},
    {RECORD_METAS, "ss", read_meta},
    {RECORD_NOTES, "wuus", read_note},
    {RECORD_CALLS, "duu", read_calls},
    {RECORD_LINE_TIMES, "dduuuuu", read_line},
    {RECORD_SAMPLES, "tdtuw", read_sample},
    {RECORD_FUNCTIONS, "duuuu", read_function},
    {RECORD_EDGES, "dwuuuu", read_edge},
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
    uint32_t own_id = find(&decode->strings, file_id);
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

/* Checks and resolves what was read. False when a value cannot be. */
static bool convert(struct decode *decode, struct rows *rows, const char *columns, uint64_t *values)
{
    for (unsigned i = 0; columns[i]; i++) {
        char column = columns[i];
        if (column == 'z' || column == 'd' || column == 't')
            values[i] = unzigzag(values[i]);
        if (column == 'd' || column == 't')
            values[i] = rows->previous[i] += values[i];
        if (column != 'u' && column != 'z' && column != 't' && values[i] > RECORD_ID_MAX)
            return false;
        if (columns[i] == 's')
            values[i] = own_string(decode, values[i]);
    }
    return !decode->out_of_memory;
}

static enum outcome read_row(struct decode *decode, const struct table *table, struct rows *rows)
{
    uint64_t values[COLUMNS_MAX];
    size_t known = strlen(table->columns);
    for (size_t i = 0; i < rows->columns; i++)
        values[i] = cursor_get_varint(&rows->cursor);
    for (size_t i = rows->columns; i < known; i++)
        values[i] = 0; /* an older writer did not have the column */
    if (rows->cursor.failed || !convert(decode, rows, table->columns, values))
        return ROW_WRONG;
    return table->read(decode, rows, values);
}

/* Threads, and files with their text, are named once in a record, in its key. */
static void resolve_key(struct decode *decode, struct rows *rows, uint64_t tag)
{
    bool of_thread = tag == RECORD_CALLS || tag == RECORD_LINE_TIMES || tag == RECORD_SAMPLES;
    if (!of_thread && tag != RECORD_SOURCE)
        return;
    uint32_t own_id = find(of_thread ? &decode->threads : &decode->strings, rows->key);
    rows->orphaned = own_id == IDS_UNKNOWN;
    rows->key = own_id;
}

static enum outcome read_text_row(struct decode *decode, struct rows *rows, uint64_t tag)
{
    return tag == RECORD_SOURCE ? read_source(decode, rows) : read_string(decode, rows);
}

static bool read_record(struct decode *decode, uint64_t tag, struct cursor body)
{
    const struct table *table = find_table(tag);
    if (!table && tag != RECORD_STRINGS && tag != RECORD_SOURCE) {
        decode->unknown_records += tag != RECORD_INDEX && tag != RECORD_END_OFFSET;
        return true;
    }
    struct rows rows = {.columns = cursor_get_varint_max(&body, COLUMNS_MAX),
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
