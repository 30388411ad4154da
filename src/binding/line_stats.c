#define PY_SSIZE_T_CLEAN
#include "binding/line_stats.h"

#include <stdbool.h>
#include <stdint.h>

#include "analyse/line_table.h"
#include "analyse/tree.h"
#include "base/bytes.h"
#include "base/err.h"
#include "binding/columns.h"
#include "export/lprof_writer.h"
#include "import/formats.h"
#include "show/lines_text.h"
#include "show/memory_lines_text.h"
#include "show/report_text.h"
#include "store/recording.h"
#include "store/rewrite.h"
#include "store/writer.h"

/* A recording and the table of its lines. */
struct line_profile {
    struct recording recording;
    struct line_table table;
};

static void line_profile_clear(struct line_profile *profile)
{
    line_table_clear(&profile->table);
    recording_clear(&profile->recording);
}

static int build_table(struct line_profile *profile, struct err *err)
{
    const struct selection everything = {0};

    return line_table_build(&profile->recording, &everything, GROUP_FUNCTION, &profile->table, err);
}

static int fail(const struct err *err)
{
    PyErr_SetString(PyExc_ValueError, err->text);
    return -1;
}

/* ---- from Python ---- */

/* The id of a str; UINT32_MAX with an exception. */
static uint32_t take_text(struct recording *recording, PyObject *text)
{
    PyObject *bytes = PyUnicode_AsEncodedString(text, "utf-8", "surrogateescape");
    uint32_t id;

    if (!bytes)
        return UINT32_MAX;
    id = strings_intern(&recording->strings, PyBytes_AsString(bytes), (size_t)PyBytes_Size(bytes));
    Py_DECREF(bytes);
    if (id == UINT32_MAX)
        PyErr_NoMemory();
    return id;
}

static int check_line(long long line)
{
    if (line >= 0 && line <= INT32_MAX)
        return 0;
    PyErr_SetString(PyExc_ValueError, "there is no line of this number");
    return -1;
}

static int added(uint32_t row)
{
    if (row != UINT32_MAX)
        return 0;
    PyErr_NoMemory();
    return -1;
}

static int take_row(struct recording *recording, uint32_t code, PyObject *tuple)
{
    long long line, hits, total, self = 0, shortest = 0, longest = 0;
    struct line_row row = {.code = code};

    if (!PyArg_ParseTuple(tuple, "LLL|LLL;a row is (line, hits, time)", &line, &hits, &total, &self,
                          &shortest, &longest) ||
        check_line(line) < 0)
        return -1;
    if (hits < 0 || total < 0 || self < 0 || shortest < 0 || longest < 0) {
        PyErr_SetString(PyExc_ValueError, "hits and times of lines cannot be below 0");
        return -1;
    }
    row.line = (uint32_t)line;
    row.hits = (uint64_t)hits;
    row.total_ns = (uint64_t)total;
    row.self_ns = (uint64_t)self;
    row.min_ns = (uint64_t)shortest;
    row.max_ns = (uint64_t)longest;
    return added(recording_add_line(recording, &row));
}

static int take_memory(struct recording *recording, uint32_t code, PyObject *tuple)
{
    long long line, hits, rss, heap;
    struct line_memory_row row = {.code = code};

    if (!PyArg_ParseTuple(tuple, "LLLLLL;a row is (line, hits, growth, memory, growth, memory)", &line, &hits,
                          &row.rss_growth_bytes, &rss, &row.heap_growth_bytes, &heap) ||
        check_line(line) < 0)
        return -1;
    row.line = (uint32_t)line;
    row.hits = (uint64_t)hits;
    row.rss_bytes = (uint64_t)rss;
    row.heap_bytes = (uint64_t)heap;
    return added(recording_add_line_memory(recording, &row));
}

typedef int take_one_row(struct recording *recording, uint32_t code, PyObject *tuple);

/* A function that never ran has a row without hits, as in files that were read. */
static int take_rows(struct recording *recording, uint32_t code, uint32_t line, PyObject *rows,
                     take_one_row *take_one)
{
    const struct line_row never = {.code = code, .line = line};
    Py_ssize_t count = PyList_Size(rows);

    if (count == 0 && recording_add_line(recording, &never) == UINT32_MAX) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++)
        if (take_one(recording, code, PyList_GetItem(rows, i)) < 0)
            return -1;
    return count < 0 ? -1 : 0;
}

static int take_function(struct recording *recording, PyObject *function, take_one_row *take_one)
{
    PyObject *file, *name, *rows;
    struct code code = {.kind = CODE_PYTHON};
    long long line;
    uint32_t id;

    if (!PyArg_ParseTuple(function, "(ULU)O!;a function is ((file, line, name), rows)", &file, &line, &name,
                          &PyList_Type, &rows) ||
        check_line(line) < 0)
        return -1;
    code.line = (uint32_t)line;
    code.file = take_text(recording, file);
    code.name = code.qualname = code.file == UINT32_MAX ? UINT32_MAX : take_text(recording, name);
    if (code.name == UINT32_MAX)
        return -1;
    id = recording_add_code(recording, &code);
    if (id)
        return take_rows(recording, id, code.line, rows, take_one);
    PyErr_NoMemory();
    return -1;
}

static int take_source(struct recording *recording, PyObject *file, PyObject *text)
{
    uint32_t id = PyUnicode_Check(file) ? take_text(recording, file) : UINT32_MAX;
    PyObject *bytes = id == UINT32_MAX ? NULL : PyUnicode_AsEncodedString(text, "utf-8", "surrogateescape");
    uint32_t added;

    if (!bytes)
        return -1;
    added = recording_add_source(recording, id, PyBytes_AsString(bytes), (size_t)PyBytes_Size(bytes));
    Py_DECREF(bytes);
    if (added != UINT32_MAX)
        return 0;
    PyErr_NoMemory();
    return -1;
}

/* `sources` may be NULL. 0, or -1 with an exception: then the profile is empty. */
static int take(struct line_profile *profile, PyObject *functions, PyObject *sources, take_one_row *take_one)
{
    struct recording *recording = &profile->recording;
    struct err err = {0};
    PyObject *file, *text;
    Py_ssize_t at = 0;
    int failed = recording_init(recording, &err) < 0 ? fail(&err) : 0;

    for (Py_ssize_t i = 0; !failed && i < PyList_Size(functions); i++)
        failed = take_function(recording, PyList_GetItem(functions, i), take_one);
    while (!failed && sources && PyDict_Next(sources, &at, &file, &text))
        failed = take_source(recording, file, text);
    if (!failed && (recording_set_meta(recording, "mode", "line") < 0 || build_table(profile, &err) < 0))
        failed = fail(&err);
    if (failed)
        line_profile_clear(profile);
    return failed;
}

/* ---- to Python ---- */

static PyObject *row_tuple(const struct line_table_row *row)
{
    if (row->sums_only)
        return Py_BuildValue("IKK", row->line, (unsigned long long)row->hits,
                             (unsigned long long)row->total_ns);
    return Py_BuildValue("IKKKKK", row->line, (unsigned long long)row->hits,
                         (unsigned long long)row->total_ns, (unsigned long long)row->self_ns,
                         (unsigned long long)row->min_ns, (unsigned long long)row->max_ns);
}

static PyObject *row_list(const struct line_table *table, const struct line_table_function *function)
{
    PyObject *list = PyList_New(0);

    for (uint32_t i = 0; list && i < function->count; i++) {
        PyObject *row = row_tuple(&table->rows[function->first + i]);

        if (!row || PyList_Append(list, row) < 0)
            Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

static PyObject *function_tuple(const struct line_profile *profile,
                                const struct line_table_function *function)
{
    const struct code *code = &profile->recording.codes[function->code];
    PyObject *file = columns_text(&profile->recording, code->file);
    PyObject *name = columns_text(&profile->recording, code->qualname ? code->qualname : code->name);
    PyObject *rows = file && name ? row_list(&profile->table, function) : NULL;
    PyObject *tuple = rows ? Py_BuildValue("(OIO)O", file, code->line, name, rows) : NULL;

    Py_XDECREF(rows);
    Py_XDECREF(name);
    Py_XDECREF(file);
    return tuple;
}

PyObject *line_stats_read(PyObject *module, PyObject *arguments)
{
    struct line_profile profile = {0};
    struct err err = {0};
    const char *data, *name;
    Py_ssize_t size;
    PyObject *list;

    (void)module;
    if (!PyArg_ParseTuple(arguments, "y#s", &data, &size, &name))
        return NULL;
    if (formats_read(data, (size_t)size, name, &profile.recording, &err) < 0 ||
        build_table(&profile, &err) < 0) {
        line_profile_clear(&profile);
        fail(&err);
        return NULL;
    }
    list = PyList_New(0);
    for (uint32_t i = 0; list && i < profile.table.function_count; i++) {
        PyObject *function = function_tuple(&profile, &profile.table.functions[i]);

        if (!function || PyList_Append(list, function) < 0)
            Py_CLEAR(list);
        Py_XDECREF(function);
    }
    line_profile_clear(&profile);
    return list;
}

/* ---- files and text ---- */

/* Gives the bytes away as a Python object: bytes, or str when `text`. */
static PyObject *take_result(struct bytes *out, bool text)
{
    const char *data = out->data ? (const char *)out->data : "";
    PyObject *result = NULL;

    if (out->failed)
        PyErr_NoMemory();
    else if (text)
        result = PyUnicode_DecodeUTF8(data, (Py_ssize_t)out->size, "surrogateescape");
    else
        result = PyBytes_FromStringAndSize(data, (Py_ssize_t)out->size);
    bytes_clear(out);
    return result;
}

PyObject *line_stats_lprof(PyObject *module, PyObject *arguments)
{
    struct line_profile profile = {0};
    struct bytes out = {0};
    struct err err = {0};
    PyObject *functions;
    int failed;

    (void)module;
    if (!PyArg_ParseTuple(arguments, "O!", &PyList_Type, &functions) ||
        take(&profile, functions, NULL, take_row) < 0)
        return NULL;
    failed = lprof_writer_write(&profile.recording, &profile.table, &out, &err);
    line_profile_clear(&profile);
    if (!failed)
        return take_result(&out, false);
    bytes_clear(&out);
    fail(&err);
    return NULL;
}

static int write_recording(const struct recording *recording, struct bytes *out, struct err *err)
{
    const struct writer_options options = {.sink = writer_sink_bytes, .context = out};
    struct writer *writer = writer_new(&options, err);

    if (!writer)
        return -1;
    if (rewrite_recording(writer, recording, err) == 0)
        return writer_close(writer, err);
    writer_abandon(writer);
    return -1;
}

PyObject *line_stats_recording(PyObject *module, PyObject *arguments)
{
    struct line_profile profile = {0};
    struct bytes out = {0};
    struct err err = {0};
    PyObject *functions, *sources;
    int failed;

    (void)module;
    if (!PyArg_ParseTuple(arguments, "O!O!", &PyList_Type, &functions, &PyDict_Type, &sources) ||
        take(&profile, functions, sources, take_row) < 0)
        return NULL;
    failed = write_recording(&profile.recording, &out, &err);
    line_profile_clear(&profile);
    if (!failed)
        return take_result(&out, false);
    bytes_clear(&out);
    fail(&err);
    return NULL;
}

PyObject *line_stats_text(PyObject *module, PyObject *arguments)
{
    struct line_profile profile = {0};
    struct report_options options = {.paths = LABEL_FULL};
    struct bytes out = {0};
    PyObject *functions, *sources;
    int skip_zero, details, summarize, color;

    (void)module;
    if (!PyArg_ParseTuple(arguments, "O!O!dpppp", &PyList_Type, &functions, &PyDict_Type, &sources,
                          &options.unit_s, &skip_zero, &details, &summarize, &color) ||
        take(&profile, functions, sources, take_row) < 0)
        return NULL;
    options.terminal.color = color;
    bytes_putf(&out, "Timer unit: %g s\n\n", options.unit_s);
    for (uint32_t i = 0; details && i < profile.table.function_count; i++)
        if (!skip_zero || profile.table.functions[i].hits)
            lines_text_put_function(&profile.recording, &options, &profile.table, &profile.table.functions[i],
                                    &out);
    for (uint32_t i = 0; summarize && i < profile.table.function_count; i++)
        if (!skip_zero || profile.table.functions[i].total_ns)
            lines_text_put_summary(&profile.recording, &options, &profile.table, &profile.table.functions[i],
                                   &out);
    line_profile_clear(&profile);
    return take_result(&out, true);
}

PyObject *line_stats_memory_text(PyObject *module, PyObject *arguments)
{
    struct line_profile profile = {0};
    struct report_options options = {.paths = LABEL_FULL};
    struct bytes out = {0};
    PyObject *functions, *sources;
    int precision;

    (void)module;
    if (!PyArg_ParseTuple(arguments, "O!O!i", &PyList_Type, &functions, &PyDict_Type, &sources, &precision) ||
        take(&profile, functions, sources, take_memory) < 0)
        return NULL;
    options.precision = precision > 0 ? precision : -1;
    for (uint32_t i = 0; i < profile.table.function_count; i++)
        memory_lines_text_put_function(&profile.recording, &options, &profile.table,
                                       &profile.table.functions[i], &out);
    line_profile_clear(&profile);
    return take_result(&out, true);
}
