#include "binding/columns.h"

#include <stdbool.h>
#include <string.h>

#include "analyse/functions.h"
#include "store/recording.h"

/* One field of a row; `format` as in Python's struct module, in the machine's own size and order. */
struct column {
    const char *name;
    const char *format;
    size_t offset, size;
};

/* clang-format off */
#define COLUMN_FIELD(row, field) (((struct row *)NULL)->field)
#define COLUMN(row, field) COLUMN_AS(row, field, #field)
#define COLUMN_AS(row, field, name)                                                                          \
    {name,                                                                                                   \
     _Generic(COLUMN_FIELD(row, field),                                                                      \
              uint8_t: "B", uint16_t: "H", uint32_t: "I", int32_t: "i", uint64_t: "Q", int64_t: "q"),                      \
     offsetof(struct row, field), sizeof COLUMN_FIELD(row, field)}
/* clang-format on */

static const struct column columns_of_code[] = {
    COLUMN(code, name), COLUMN(code, qualname), COLUMN(code, file),  COLUMN(code, module),
    COLUMN(code, line), COLUMN(code, kind),     COLUMN(code, flags), {0},
};

static const struct column columns_of_node[] = {
    COLUMN(node, parent),
    COLUMN(node, code),
    COLUMN(node, line),
    {0},
};

static const struct column columns_of_process[] = {
    COLUMN(process, pid),
    COLUMN(process, parent),
    COLUMN(process, rank),
    COLUMN(process, host),
    COLUMN(process, command),
    COLUMN(process, python),
    COLUMN(process, exe),
    COLUMN(process, start_ns),
    COLUMN(process, end_ns),
    COLUMN(process, exit_code),
    {0},
};

static const struct column columns_of_thread[] = {
    COLUMN(thread, process),  COLUMN(thread, name),   COLUMN(thread, tid),
    COLUMN(thread, start_ns), COLUMN(thread, end_ns), {0},
};

static const struct column columns_of_calls[] = {
    COLUMN(call_row, thread), COLUMN(call_row, node), COLUMN(call_row, calls), COLUMN(call_row, self_ns), {0},
};

static const struct column columns_of_line[] = {
    COLUMN(line_row, thread), COLUMN(line_row, code),     COLUMN(line_row, line),
    COLUMN(line_row, hits),   COLUMN(line_row, total_ns), COLUMN(line_row, self_ns),
    COLUMN(line_row, min_ns), COLUMN(line_row, max_ns),   {0},
};

static const struct column columns_of_sample[] = {
    COLUMN(sample_row, time_ns),
    COLUMN(sample_row, weight_ns),
    COLUMN(sample_row, thread),
    COLUMN(sample_row, node),
    COLUMN(sample_row, count),
    COLUMN(sample_row, state),
    {0},
};

static const struct column columns_of_counter[] = {
    COLUMN(counter, name), COLUMN(counter, unit), COLUMN(counter, process), COLUMN(counter, kind), {0},
};

static const struct column columns_of_series[] = {
    COLUMN(series_row, time_ns),
    COLUMN(series_row, value),
    COLUMN(series_row, counter),
    {0},
};

static const struct column columns_of_region[] = {
    COLUMN(region, name), COLUMN(region, group), COLUMN(region, code), COLUMN(region, color), {0},
};

static const struct column columns_of_region_event[] = {
    COLUMN(region_event_row, time_ns),
    COLUMN(region_event_row, value),
    COLUMN(region_event_row, thread),
    COLUMN(region_event_row, region),
    COLUMN(region_event_row, ends),
    COLUMN(region_event_row, back),
    {0},
};

static const struct column columns_of_mark[] = {
    COLUMN(mark_row, time_ns), COLUMN(mark_row, thread), COLUMN(mark_row, name), COLUMN(mark_row, text), {0},
};

static const struct column columns_of_communicator[] = {
    COLUMN(communicator, key),  COLUMN(communicator, process), COLUMN(communicator, size),
    COLUMN(communicator, rank), COLUMN(communicator, name),    {0},
};

static const struct column columns_of_clock[] = {
    COLUMN(clock_row, local_ns),
    COLUMN(clock_row, reference_ns),
    COLUMN(clock_row, error_ns),
    COLUMN(clock_row, process),
    {0},
};

static const struct column columns_of_message[] = {
    COLUMN(message_row, time_ns),      COLUMN(message_row, duration_ns), COLUMN(message_row, posted_ns),
    COLUMN(message_row, size_bytes),   COLUMN(message_row, thread),      COLUMN(message_row, node),
    COLUMN(message_row, communicator), COLUMN(message_row, peer),        COLUMN(message_row, tag),
    COLUMN(message_row, call),         COLUMN(message_row, received),    {0},
};

static const struct column columns_of_collective[] = {
    COLUMN(collective_row, time_ns),      COLUMN(collective_row, duration_ns),
    COLUMN(collective_row, posted_ns),    COLUMN(collective_row, number),
    COLUMN(collective_row, sent_bytes),   COLUMN(collective_row, received_bytes),
    COLUMN(collective_row, thread),       COLUMN(collective_row, node),
    COLUMN(collective_row, communicator), COLUMN(collective_row, root),
    COLUMN(collective_row, call),         {0},
};

static const struct column columns_of_mpi_total[] = {
    COLUMN(mpi_total_row, count),          COLUMN(mpi_total_row, sent_bytes),
    COLUMN(mpi_total_row, received_bytes), COLUMN(mpi_total_row, total_ns),
    COLUMN(mpi_total_row, thread),         COLUMN(mpi_total_row, node),
    COLUMN(mpi_total_row, communicator),   COLUMN(mpi_total_row, peer),
    COLUMN(mpi_total_row, call),           {0},
};

static const struct column columns_of_call_event[] = {
    COLUMN(call_event_row, start_ns), COLUMN(call_event_row, end_ns), COLUMN(call_event_row, thread),
    COLUMN(call_event_row, node),     COLUMN(call_event_row, line),   {0},
};

static const struct column columns_of_heap[] = {
    COLUMN(heap_row, at_ns),
    COLUMN(heap_row, live_bytes),
    COLUMN(heap_row, live_count),
    COLUMN(heap_row, total_bytes),
    COLUMN(heap_row, total_count),
    COLUMN(heap_row, peak_bytes),
    COLUMN(heap_row, peak_count),
    COLUMN(heap_row, temporary_bytes),
    COLUMN(heap_row, temporary_count),
    COLUMN(heap_row, thread),
    COLUMN(heap_row, node),
    COLUMN(heap_row, allocator),
    {0},
};

static const struct column columns_of_heap_size[] = {
    COLUMN(heap_size_row, floor_bytes),
    COLUMN(heap_size_row, count),
    COLUMN(heap_size_row, total_bytes),
    COLUMN(heap_size_row, process),
    {0},
};

static const struct column columns_of_allocation[] = {
    COLUMN(allocation_row, time_ns),
    COLUMN(allocation_row, address),
    COLUMN(allocation_row, size_bytes),
    COLUMN(allocation_row, thread),
    COLUMN(allocation_row, node),
    COLUMN(allocation_row, allocator),
    {0},
};

static const struct column columns_of_line_memory[] = {
    COLUMN(line_memory_row, thread),
    COLUMN(line_memory_row, code),
    COLUMN(line_memory_row, line),
    COLUMN(line_memory_row, hits),
    COLUMN(line_memory_row, heap_growth_bytes),
    COLUMN(line_memory_row, rss_growth_bytes),
    COLUMN(line_memory_row, heap_bytes),
    COLUMN(line_memory_row, rss_bytes),
    {0},
};

static const struct column columns_of_function[] = {
    COLUMN(function_row, code),
    COLUMN(function_row, calls),
    COLUMN(function_row, primitive_calls),
    COLUMN(function_row, samples),
    COLUMN(function_row, total_samples),
    COLUMN_AS(function_row, self, "self_ns"),
    COLUMN_AS(function_row, total, "total_ns"),
    {0},
};

static const struct column columns_of_edge[] = {
    COLUMN(edge_row, caller),
    COLUMN(edge_row, callee),
    COLUMN(edge_row, calls),
    COLUMN(edge_row, primitive_calls),
    COLUMN(edge_row, samples),
    COLUMN(edge_row, total_samples),
    COLUMN_AS(edge_row, self, "self_ns"),
    COLUMN_AS(edge_row, total, "total_ns"),
    {0},
};

static const struct column columns_of_note[] = {
    COLUMN(note, process), COLUMN(note, kind), COLUMN(note, count), COLUMN(note, text), {0},
};

static const struct column columns_of_chunk[] = {
    COLUMN(chunk_info, offset),       COLUMN(chunk_info, clock_ns),  COLUMN(chunk_info, process),
    COLUMN(chunk_info, stored_bytes), COLUMN(chunk_info, raw_bytes), COLUMN(chunk_info, records),
    COLUMN(chunk_info, kind),         COLUMN(chunk_info, state),     {0},
};

/* Gives the value away to the dict; a value of NULL (a failure before) is a failure. */
static int columns_put(PyObject *dict, const char *key, PyObject *value)
{
    int failed = value ? PyDict_SetItemString(dict, key, value) : -1;

    Py_XDECREF(value);
    return failed;
}

static PyObject *columns_view(const char *rows, uint32_t count, size_t row_bytes, const struct column *column)
{
    PyObject *data = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(count * column->size));
    PyObject *view, *typed;
    char *out;

    if (!data)
        return NULL;
    out = PyBytes_AsString(data);
    for (uint32_t i = 0; i < count; i++)
        memcpy(out + i * column->size, rows + i * row_bytes + column->offset, column->size);
    view = PyMemoryView_FromObject(data);
    Py_DECREF(data);
    if (!view)
        return NULL;
    typed = PyObject_CallMethod(view, "cast", "s", column->format);
    Py_DECREF(view);
    return typed;
}

static PyObject *columns_table(const void *rows, uint32_t count, size_t row_bytes,
                               const struct column *columns)
{
    PyObject *table = PyDict_New();

    for (; table && columns->name; columns++)
        if (columns_put(table, columns->name, columns_view(rows, count, row_bytes, columns)) < 0)
            Py_CLEAR(table);
    return table;
}

PyObject *columns_text(const struct recording *recording, uint32_t string)
{
    return PyUnicode_DecodeUTF8(recording_text(recording, string),
                                (Py_ssize_t)strings_size(&recording->strings, string), "surrogateescape");
}

static PyObject *columns_strings(const struct recording *recording)
{
    PyObject *list = PyList_New((Py_ssize_t)recording->strings.count);

    for (uint32_t i = 0; list && i < recording->strings.count; i++) {
        PyObject *text = columns_text(recording, i);

        if (!text || PyList_SetItem(list, (Py_ssize_t)i, text) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *columns_meta(const struct recording *recording)
{
    PyObject *dict = PyDict_New();

    for (uint32_t i = 0; dict && i < recording->metas_count; i++) {
        PyObject *key = columns_text(recording, recording->metas[i].key);
        PyObject *value = columns_text(recording, recording->metas[i].value);

        if (!key || !value || PyDict_SetItem(dict, key, value) < 0)
            Py_CLEAR(dict);
        Py_XDECREF(key);
        Py_XDECREF(value);
    }
    return dict;
}

static PyObject *columns_damage(const struct damage *damage)
{
    return Py_BuildValue(
        "{s:K,s:K,s:K,s:K,s:O,s:O}", "damaged_chunks", (unsigned long long)damage->damaged_chunks,
        "orphaned_chunks", (unsigned long long)damage->orphaned_chunks, "unknown_chunks",
        (unsigned long long)damage->unknown_chunks, "skipped_bytes",
        (unsigned long long)damage->skipped_bytes, "truncated", damage->truncated ? Py_True : Py_False,
        "complete", damage->complete ? Py_True : Py_False);
}

static int columns_put_tables(PyObject *dict, const struct recording *recording,
                              const struct functions *functions)
{
    const struct {
        const char *name;
        const void *rows;
        uint32_t count;
        size_t row_bytes;
        const struct column *columns;
    } tables[] = {
        {"codes", recording->codes, recording->codes_count, sizeof(struct code), columns_of_code},
        {"nodes", recording->nodes, recording->nodes_count, sizeof(struct node), columns_of_node},
        {"processes", recording->processes, recording->processes_count, sizeof(struct process),
         columns_of_process},
        {"threads", recording->threads, recording->threads_count, sizeof(struct thread), columns_of_thread},
        {"calls", recording->calls, recording->calls_count, sizeof(struct call_row), columns_of_calls},
        {"lines", recording->lines, recording->lines_count, sizeof(struct line_row), columns_of_line},
        {"samples", recording->samples, recording->samples_count, sizeof(struct sample_row),
         columns_of_sample},
        {"counters", recording->counters, recording->counters_count, sizeof(struct counter),
         columns_of_counter},
        {"series", recording->series, recording->series_count, sizeof(struct series_row), columns_of_series},
        {"regions", recording->regions, recording->regions_count, sizeof(struct region), columns_of_region},
        {"region_events", recording->region_events, recording->region_events_count,
         sizeof(struct region_event_row), columns_of_region_event},
        {"marks", recording->marks, recording->marks_count, sizeof(struct mark_row), columns_of_mark},
        {"call_events", recording->call_events, recording->call_events_count, sizeof(struct call_event_row),
         columns_of_call_event},
        {"heap", recording->heap, recording->heap_count, sizeof(struct heap_row), columns_of_heap},
        {"heap_sizes", recording->heap_sizes, recording->heap_sizes_count, sizeof(struct heap_size_row),
         columns_of_heap_size},
        {"allocations", recording->allocations, recording->allocations_count, sizeof(struct allocation_row),
         columns_of_allocation},
        {"line_memory", recording->line_memory, recording->line_memory_count, sizeof(struct line_memory_row),
         columns_of_line_memory},
        {"communicators", recording->communicators, recording->communicators_count,
         sizeof(struct communicator), columns_of_communicator},
        {"clocks", recording->clocks, recording->clocks_count, sizeof(struct clock_row), columns_of_clock},
        {"messages", recording->messages, recording->messages_count, sizeof(struct message_row),
         columns_of_message},
        {"collectives", recording->collectives, recording->collectives_count, sizeof(struct collective_row),
         columns_of_collective},
        {"mpi_totals", recording->mpi_totals, recording->mpi_totals_count, sizeof(struct mpi_total_row),
         columns_of_mpi_total},
        {"functions", functions->rows, functions->row_count, sizeof(struct function_row),
         columns_of_function},
        {"edges", functions->edges, functions->edge_count, sizeof(struct edge_row), columns_of_edge},
        {"notes", recording->notes, recording->notes_count, sizeof(struct note), columns_of_note},
        {"chunks", recording->chunks, recording->chunks_count, sizeof(struct chunk_info), columns_of_chunk},
    };

    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (columns_put(
                dict, tables[i].name,
                columns_table(tables[i].rows, tables[i].count, tables[i].row_bytes, tables[i].columns)) < 0)
            return -1;
    return 0;
}

PyObject *columns_recording(const struct recording *recording, const struct functions *functions)
{
    PyObject *dict = PyDict_New();

    if (!dict)
        return NULL;
    if (columns_put(dict, "strings", columns_strings(recording)) == 0 &&
        columns_put(dict, "meta", columns_meta(recording)) == 0 &&
        columns_put(dict, "damage", columns_damage(&recording->damage)) == 0 &&
        columns_put_tables(dict, recording, functions) == 0)
        return dict;
    Py_DECREF(dict);
    return NULL;
}
