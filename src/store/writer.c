#include "store/writer.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/checksum.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/map.h"
#include "store/chunk.h"
#include "store/record.h"

/* A chunk leaves when its payload reaches this: large enough to compress well, small enough that a damaged
 * one costs little. */
#define SPLIT_BYTES (4u << 20)

/* The tables that are gathered at the same time, in the order in which they leave: what a row may name stands
 * in an earlier table, or earlier in its own. */
enum table_id {
    TABLE_STRINGS,
    TABLE_CODES,
    TABLE_NODES,
    TABLE_PROCESSES,
    TABLE_THREADS,
    TABLE_CODE_FLAGS,
    TABLE_METAS,
    TABLE_NOTES,
    TABLE_CALLS,
    TABLE_FUNCTIONS,
    TABLE_EDGES,
    TABLE_INDEX,
    TABLE_COUNT
};

static const struct {
    uint16_t tag, kind, columns;
    bool stepped; /* the first column is written as the difference to the row before */
} shapes[TABLE_COUNT] = {
    [TABLE_STRINGS] = {RECORD_STRINGS, RECORD_KIND_DEFS, 1},
    [TABLE_CODES] = {RECORD_CODES, RECORD_KIND_DEFS, 7},
    [TABLE_NODES] = {RECORD_NODES, RECORD_KIND_DEFS, 3},
    [TABLE_PROCESSES] = {RECORD_PROCESSES, RECORD_KIND_DEFS, 11},
    [TABLE_THREADS] = {RECORD_THREADS, RECORD_KIND_DEFS, 6},
    [TABLE_CODE_FLAGS] = {RECORD_CODE_FLAGS, RECORD_KIND_DEFS, 2},
    [TABLE_METAS] = {RECORD_METAS, RECORD_KIND_INFO, 2},
    [TABLE_NOTES] = {RECORD_NOTES, RECORD_KIND_INFO, 4},
    [TABLE_CALLS] = {RECORD_CALLS, RECORD_KIND_CALLS, 3, true},
    [TABLE_FUNCTIONS] = {RECORD_FUNCTIONS, RECORD_KIND_FLAT, 5, true},
    [TABLE_EDGES] = {RECORD_EDGES, RECORD_KIND_FLAT, 6, true},
    [TABLE_INDEX] = {RECORD_INDEX, RECORD_KIND_END, 5, true},
};

/* Chunk kinds that are gathered, definitions first. */
static const uint16_t kinds[] = {RECORD_KIND_DEFS, RECORD_KIND_INFO, RECORD_KIND_CALLS, RECORD_KIND_FLAT};
#define KIND_SLOTS (RECORD_KIND_END + 1)

/* One record being filled. */
struct table {
    struct bytes rows;
    uint64_t key;
    uint64_t previous; /* the last row's first column */
    uint32_t count;
};

struct writer {
    struct writer_options options;
    struct err err;          /* the first failure */
    struct recording known;  /* the definitions made so far: strings, codes, nodes, processes, threads */
    struct map codes, nodes; /* hash of the definition → id */
    struct table tables[TABLE_COUNT];
    struct {
        struct bytes payload;  /* records that are whole */
        uint32_t rows;         /* in them */
        size_t gathered_bytes; /* in them, and in rows still open */
    } gathered[KIND_SLOTS];
    uint32_t calls_process; /* whose call rows are being gathered */
    uint32_t sequence;
    struct bytes packed; /* the compressor's output */
    struct bytes out;    /* whole chunks on their way to the sink */
    uint64_t written_bytes;
};

static uint32_t fail(struct writer *writer, const char *format, ...) __attribute__((format(printf, 2, 3)));
static uint32_t fail(struct writer *writer, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    err_set_list(&writer->err, format, args);
    va_end(args);
    return 0;
}

static uint32_t fail_memory(struct writer *writer)
{
    return fail(writer, "out of memory while writing a recording");
}

static bool failed(const struct writer *writer)
{
    return err_is_set(&writer->err);
}

static uint64_t zigzag(int64_t value)
{
    return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

/* ---- chunks ---- */

static void send(struct writer *writer)
{
    if (writer->out.failed)
        fail_memory(writer);
    if (failed(writer) || writer->out.size == 0)
        return;
    if (writer->options.sink(writer->options.context, writer->out.data, writer->out.size, &writer->err) < 0)
        fail(writer, "the recording could not be written");
    else
        writer->written_bytes += writer->out.size;
    bytes_reset(&writer->out);
}

static void put_row(struct writer *writer, enum table_id id, uint64_t key, const uint64_t *values);

/* The index is optional: one that grows too large for a chunk just ends. */
static void add_to_index(struct writer *writer, const struct chunk *chunk, uint64_t offset)
{
    if (writer->tables[TABLE_INDEX].rows.size < RECORD_CHUNK_MAX / 2)
        put_row(writer, TABLE_INDEX, 0,
                (uint64_t[]){offset, chunk->kind, chunk->process, chunk->rows, chunk->clock_ns});
}

/* The payload as it will be stored: compressed when that is smaller. */
static struct bytes *pack(struct writer *writer, struct bytes *payload, struct chunk *chunk)
{
    struct bytes *packed = &writer->packed;
    bytes_reset(packed);
    if (!writer->options.compress || chunk->kind == RECORD_KIND_END || !bytes_reserve(packed, payload->size))
        return payload;
    packed->size = writer->options.compress(payload->data, payload->size, packed->data, payload->size);
    if (packed->size == 0 || packed->size >= payload->size)
        return payload;
    chunk->compression = CHUNK_ZSTD;
    return packed;
}

static void emit(struct writer *writer, uint16_t kind, uint32_t process)
{
    struct bytes *payload = &writer->gathered[kind].payload;
    if (payload->failed)
        fail_memory(writer);
    else if (payload->size > RECORD_CHUNK_MAX)
        fail(writer, "a chunk of %zu bytes is larger than the format allows", payload->size);
    if (failed(writer))
        return;
    struct chunk chunk = {.kind = kind,
                          .compression = CHUNK_RAW,
                          .sequence = writer->sequence++,
                          .process = process,
                          .clock_ns = clock_monotonic_ns(),
                          .real_ns = clock_real_ns(),
                          .raw_bytes = (uint32_t)payload->size,
                          .rows = writer->gathered[kind].rows};
    struct bytes *stored = pack(writer, payload, &chunk);
    chunk.stored_bytes = (uint32_t)stored->size;
    chunk.checksum = checksum_crc32c(0, stored->data, stored->size);
    if (kind != RECORD_KIND_END)
        add_to_index(writer, &chunk, writer->written_bytes + writer->out.size);
    chunk_put(&writer->out, &chunk);
    bytes_put(&writer->out, stored->data, stored->size);
    bytes_reset(payload);
    writer->gathered[kind].rows = 0;
    writer->gathered[kind].gathered_bytes = 0;
}

/* Turns the open rows of a table into a record of its chunk. */
static void close_table(struct writer *writer, enum table_id id)
{
    struct table *table = &writer->tables[id];
    if (table->count == 0)
        return;
    struct bytes head = {0};
    bytes_put_varint(&head, shapes[id].columns);
    bytes_put_varint(&head, table->key);
    struct bytes *payload = &writer->gathered[shapes[id].kind].payload;
    bytes_put_varint(payload, shapes[id].tag);
    bytes_put_varint(payload, head.size + table->rows.size);
    bytes_put(payload, head.data, head.size);
    bytes_put(payload, table->rows.data, table->rows.size);
    if (head.failed || table->rows.failed)
        fail_memory(writer);
    bytes_clear(&head);
    bytes_reset(&table->rows);
    writer->gathered[shapes[id].kind].rows += table->count;
    table->count = 0;
}

int writer_flush(struct writer *writer)
{
    for (enum table_id id = 0; id < TABLE_INDEX; id++)
        close_table(writer, id);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (writer->gathered[kinds[i]].payload.size || writer->gathered[kinds[i]].payload.failed)
            emit(writer, kinds[i], kinds[i] == RECORD_KIND_CALLS ? writer->calls_process : 0);
    }
    send(writer);
    return failed(writer) ? -1 : 0;
}

/* ---- rows ---- */

/* Opens the table's record when none is open; a different key closes the one that is. */
static struct table *open_table(struct writer *writer, enum table_id id, uint64_t key)
{
    struct table *table = &writer->tables[id];
    if (table->count && table->key != key)
        close_table(writer, id);
    if (table->count++ == 0) {
        table->key = key;
        table->previous = 0;
    }
    return table;
}

static void flush_when_large(struct writer *writer, enum table_id id, size_t row_bytes)
{
    size_t *gathered_bytes = &writer->gathered[shapes[id].kind].gathered_bytes;
    *gathered_bytes += row_bytes;
    if (*gathered_bytes >= SPLIT_BYTES && id != TABLE_INDEX)
        writer_flush(writer);
}

static void put_row(struct writer *writer, enum table_id id, uint64_t key, const uint64_t *values)
{
    struct table *table = open_table(writer, id, key);
    size_t before = table->rows.size;
    bool stepped = shapes[id].stepped;
    if (stepped) {
        bytes_put_signed(&table->rows, (int64_t)(values[0] - table->previous));
        table->previous = values[0];
    }
    for (unsigned i = stepped; i < shapes[id].columns; i++)
        bytes_put_varint(&table->rows, values[i]);
    flush_when_large(writer, id, table->rows.size - before);
}

/* Rows of definitions that follow each other share a record: only the first id is written. */
static uint64_t run_key(const struct writer *writer, enum table_id id, uint32_t first)
{
    return writer->tables[id].count ? writer->tables[id].key : first;
}

/* ---- definitions ---- */

uint32_t writer_string(struct writer *writer, const char *text, size_t size)
{
    if (failed(writer))
        return 0;
    if (size > RECORD_STRING_MAX)
        size = RECORD_STRING_MAX;
    uint32_t before = writer->known.strings.count;
    uint32_t id = strings_intern(&writer->known.strings, text, size);
    if (id == UINT32_MAX)
        return fail_memory(writer);
    if (id == before) {
        struct table *table = open_table(writer, TABLE_STRINGS, run_key(writer, TABLE_STRINGS, id));
        bytes_put_counted(&table->rows, text, size);
        flush_when_large(writer, TABLE_STRINGS, size);
    }
    return id;
}

static bool knows_strings(struct writer *writer, const uint32_t *ids, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (ids[i] >= writer->known.strings.count)
            return fail(writer, "a definition names string %u, which was never defined", ids[i]);
    }
    return true;
}

static bool knows(struct writer *writer, const char *what, uint32_t id, uint32_t count)
{
    return id < count || fail(writer, "%s %u was never defined", what, id);
}

/* Everything but the flags, which may become known later. */
static bool same_code(const struct code *a, const struct code *b)
{
    return a->name == b->name && a->qualname == b->qualname && a->file == b->file && a->module == b->module &&
           a->line == b->line && a->kind == b->kind;
}

uint32_t writer_code(struct writer *writer, const struct code *code)
{
    const uint32_t words[] = {code->name, code->qualname, code->file, code->module, code->line, code->kind};
    if (failed(writer) || !knows_strings(writer, words, 4))
        return 0;
    uint64_t key = map_hash_bytes(words, sizeof words);
    uint32_t id;
    while ((id = map_get(&writer->codes, key)) != MAP_NONE && !same_code(&writer->known.codes[id], code))
        key++;
    if (id != MAP_NONE) {
        writer_update_code(writer, id, code);
        return id;
    }
    id = recording_add_code(&writer->known, code);
    if (!id || !map_set(&writer->codes, key, id))
        return fail_memory(writer);
    put_row(writer, TABLE_CODES, run_key(writer, TABLE_CODES, id),
            (uint64_t[]){code->name, code->qualname, code->file, code->module, code->line, code->kind,
                         code->flags});
    return id;
}

uint32_t writer_node(struct writer *writer, const struct node *node)
{
    if (failed(writer) || !knows(writer, "node", node->parent, writer->known.nodes_count) ||
        !knows(writer, "code", node->code, writer->known.codes_count))
        return 0;
    uint64_t key = map_hash_bytes(node, sizeof *node);
    uint32_t id;
    while ((id = map_get(&writer->nodes, key)) != MAP_NONE &&
           memcmp(&writer->known.nodes[id], node, sizeof *node) != 0)
        key++;
    if (id != MAP_NONE)
        return id;
    id = recording_add_node(&writer->known, node);
    if (!id || !map_set(&writer->nodes, key, id))
        return fail_memory(writer);
    put_row(writer, TABLE_NODES, run_key(writer, TABLE_NODES, id),
            (uint64_t[]){id - node->parent, node->code, node->line});
    return id;
}

static void put_process(struct writer *writer, uint32_t id, const struct process *process)
{
    const uint32_t strings[] = {process->host, process->command, process->python, process->exe};
    if (!knows_strings(writer, strings, 4))
        return;
    put_row(writer, TABLE_PROCESSES, 0,
            (uint64_t[]){id, process->pid, process->parent, process->rank + 1, process->host,
                         process->command, process->python, process->exe, process->start_ns, process->end_ns,
                         zigzag(process->exit_code)});
}

uint32_t writer_process(struct writer *writer, const struct process *process)
{
    uint32_t id = failed(writer) ? 0 : recording_add_process(&writer->known, process);
    if (!id)
        return fail_memory(writer);
    put_process(writer, id, process);
    return id;
}

void writer_update_process(struct writer *writer, uint32_t id, const struct process *process)
{
    if (failed(writer) || !knows(writer, "process", id, writer->known.processes_count))
        return;
    writer->known.processes[id] = *process;
    put_process(writer, id, process);
}

static void put_thread(struct writer *writer, uint32_t id, const struct thread *thread)
{
    if (!knows_strings(writer, &thread->name, 1) ||
        !knows(writer, "process", thread->process, writer->known.processes_count))
        return;
    put_row(writer, TABLE_THREADS, 0,
            (uint64_t[]){id, thread->process, thread->name, thread->tid, thread->start_ns, thread->end_ns});
}

uint32_t writer_thread(struct writer *writer, const struct thread *thread)
{
    uint32_t id = failed(writer) ? 0 : recording_add_thread(&writer->known, thread);
    if (!id)
        return fail_memory(writer);
    put_thread(writer, id, thread);
    return id;
}

void writer_update_thread(struct writer *writer, uint32_t id, const struct thread *thread)
{
    if (failed(writer) || !knows(writer, "thread", id, writer->known.threads_count))
        return;
    writer->known.threads[id] = *thread;
    put_thread(writer, id, thread);
}

void writer_update_code(struct writer *writer, uint32_t id, const struct code *code)
{
    if (failed(writer) || !knows(writer, "code", id, writer->known.codes_count))
        return;
    struct code *known = &writer->known.codes[id];
    if ((known->flags | code->flags) == known->flags)
        return;
    known->flags |= code->flags;
    put_row(writer, TABLE_CODE_FLAGS, 0, (uint64_t[]){id, known->flags});
}

/* ---- data ---- */

void writer_calls(struct writer *writer, uint32_t process, const struct call_row *row)
{
    if (failed(writer) || !knows(writer, "thread", row->thread, writer->known.threads_count) ||
        !knows(writer, "node", row->node, writer->known.nodes_count))
        return;
    if (process != writer->calls_process) { /* a chunk holds data of one process */
        if (writer->tables[TABLE_CALLS].count || writer->gathered[RECORD_KIND_CALLS].payload.size)
            writer_flush(writer);
        writer->calls_process = process;
    }
    put_row(writer, TABLE_CALLS, row->thread, (uint64_t[]){row->node, row->calls, row->self_ns});
}

void writer_function(struct writer *writer, const struct flat_function *row)
{
    if (failed(writer) || !knows(writer, "code", row->code, writer->known.codes_count))
        return;
    put_row(writer, TABLE_FUNCTIONS, 0,
            (uint64_t[]){row->code, row->calls, row->primitive_calls, row->self_ns, row->total_ns});
}

void writer_edge(struct writer *writer, const struct flat_edge *row)
{
    if (failed(writer) || !knows(writer, "code", row->caller, writer->known.codes_count) ||
        !knows(writer, "code", row->callee, writer->known.codes_count))
        return;
    put_row(writer, TABLE_EDGES, 0,
            (uint64_t[]){row->caller, row->callee, row->calls, row->primitive_calls, row->self_ns,
                         row->total_ns});
}

void writer_note(struct writer *writer, const struct note *note)
{
    if (failed(writer) || !knows_strings(writer, &note->text, 1) ||
        !knows(writer, "process", note->process, writer->known.processes_count))
        return;
    put_row(writer, TABLE_NOTES, 0, (uint64_t[]){note->process, note->kind, note->count, note->text});
}

void writer_meta(struct writer *writer, const char *key, const char *value)
{
    uint32_t ids[] = {writer_string(writer, key, strlen(key)), writer_string(writer, value, strlen(value))};
    if (!failed(writer))
        put_row(writer, TABLE_METAS, 0, (uint64_t[]){ids[0], ids[1]});
}

/* ---- life ---- */

struct writer *writer_new(const struct writer_options *options, struct err *err)
{
    struct writer *writer = calloc(1, sizeof *writer);
    if (!writer) {
        err_set(err, "out of memory for a recording");
        return NULL;
    }
    writer->options = *options;
    if (recording_init(&writer->known, &writer->err) == 0) {
        chunk_put_file_header(&writer->out);
        send(writer);
    }
    if (!failed(writer))
        return writer;
    err_set(err, "%s", writer->err.text);
    writer_abandon(writer);
    return NULL;
}

uint64_t writer_bytes_written(const struct writer *writer)
{
    return writer->written_bytes;
}

/* The file's last eight bytes say where its END chunk begins, so that the index is found without a search. */
static void emit_end(struct writer *writer)
{
    close_table(writer, TABLE_INDEX);
    struct bytes *payload = &writer->gathered[RECORD_KIND_END].payload;
    bytes_put_varint(payload, RECORD_END_OFFSET);
    bytes_put_varint(payload, 8);
    bytes_put_u64(payload, writer->written_bytes);
    emit(writer, RECORD_KIND_END, 0);
    send(writer);
}

int writer_close(struct writer *writer, struct err *err)
{
    if (writer_flush(writer) == 0)
        emit_end(writer);
    int result = failed(writer) ? err_set(err, "%s", writer->err.text) : 0;
    writer_abandon(writer);
    return result;
}

void writer_abandon(struct writer *writer)
{
    if (!writer)
        return;
    recording_clear(&writer->known);
    map_clear(&writer->codes);
    map_clear(&writer->nodes);
    for (enum table_id id = 0; id < TABLE_COUNT; id++)
        bytes_clear(&writer->tables[id].rows);
    for (size_t kind = 0; kind < KIND_SLOTS; kind++)
        bytes_clear(&writer->gathered[kind].payload);
    bytes_clear(&writer->packed);
    bytes_clear(&writer->out);
    free(writer);
}

int writer_sink_bytes(void *context, const void *data, size_t size, struct err *err)
{
    struct bytes *bytes = context;
    bytes_put(bytes, data, size);
    return bytes->failed ? err_set(err, "out of memory for a recording of %zu bytes", bytes->size + size) : 0;
}

/* ---- whole recordings ---- */

/* Ids of a recording → ids of the writer. Processes and threads are always new, so theirs only move. */
struct translation {
    uint32_t *strings, *codes, *nodes;
    uint32_t process_shift, thread_shift;
};

static uint32_t shifted(uint32_t id, uint32_t shift)
{
    return id ? id + shift : 0;
}

static void put_strings(struct writer *writer, const struct recording *from, struct translation *to)
{
    for (uint32_t id = 1; id < from->strings.count; id++)
        to->strings[id] = writer_string(writer, recording_text(from, id), strings_size(&from->strings, id));
}

static void put_codes(struct writer *writer, const struct recording *from, struct translation *to)
{
    for (uint32_t id = 1; id < from->codes_count; id++) {
        struct code code = from->codes[id];
        code.name = to->strings[code.name];
        code.qualname = to->strings[code.qualname];
        code.file = to->strings[code.file];
        code.module = to->strings[code.module];
        to->codes[id] = writer_code(writer, &code);
    }
}

static void put_nodes(struct writer *writer, const struct recording *from, struct translation *to)
{
    for (uint32_t id = 1; id < from->nodes_count; id++) {
        struct node node = from->nodes[id];
        node.parent = to->nodes[node.parent];
        node.code = to->codes[node.code];
        to->nodes[id] = writer_node(writer, &node);
    }
}

static void put_processes(struct writer *writer, const struct recording *from, const struct translation *to)
{
    for (uint32_t id = 1; id < from->processes_count; id++) {
        struct process process = from->processes[id];
        process.parent = shifted(process.parent, to->process_shift);
        process.host = to->strings[process.host];
        process.command = to->strings[process.command];
        process.python = to->strings[process.python];
        process.exe = to->strings[process.exe];
        writer_process(writer, &process);
    }
    for (uint32_t id = 1; id < from->threads_count; id++) {
        struct thread thread = from->threads[id];
        thread.process = shifted(thread.process, to->process_shift);
        thread.name = to->strings[thread.name];
        writer_thread(writer, &thread);
    }
}

static void put_flat(struct writer *writer, const struct recording *from, const struct translation *to)
{
    for (uint32_t i = 0; i < from->functions_count; i++) {
        struct flat_function row = from->functions[i];
        row.code = to->codes[row.code];
        writer_function(writer, &row);
    }
    for (uint32_t i = 0; i < from->edges_count; i++) {
        struct flat_edge row = from->edges[i];
        row.caller = to->codes[row.caller];
        row.callee = to->codes[row.callee];
        writer_edge(writer, &row);
    }
}

static void put_data(struct writer *writer, const struct recording *from, const struct translation *to)
{
    for (uint32_t i = 0; i < from->calls_count; i++) {
        struct call_row row = from->calls[i];
        uint32_t process = shifted(from->threads[row.thread].process, to->process_shift);
        row.thread = shifted(row.thread, to->thread_shift);
        row.node = to->nodes[row.node];
        writer_calls(writer, process, &row);
    }
    put_flat(writer, from, to);
    for (uint32_t i = 0; i < from->notes_count; i++) {
        struct note note = from->notes[i];
        note.process = shifted(note.process, to->process_shift);
        note.text = to->strings[note.text];
        writer_note(writer, &note);
    }
    for (uint32_t i = 0; i < from->metas_count; i++)
        writer_meta(writer, recording_text(from, from->metas[i].key),
                    recording_text(from, from->metas[i].value));
}

int writer_put_recording(struct writer *writer, const struct recording *recording)
{
    struct translation to = {
        .strings = calloc((size_t)recording->strings.count + 1, sizeof *to.strings),
        .codes = calloc((size_t)recording->codes_count + 1, sizeof *to.codes),
        .nodes = calloc((size_t)recording->nodes_count + 1, sizeof *to.nodes),
        .process_shift = writer->known.processes_count - 1,
        .thread_shift = writer->known.threads_count - 1,
    };
    if (to.strings && to.codes && to.nodes) {
        put_strings(writer, recording, &to);
        put_codes(writer, recording, &to);
        put_nodes(writer, recording, &to);
        put_processes(writer, recording, &to);
        put_data(writer, recording, &to);
    } else {
        fail_memory(writer);
    }
    free(to.strings);
    free(to.codes);
    free(to.nodes);
    return failed(writer) ? -1 : 0;
}
