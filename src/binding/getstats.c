#include "binding/getstats.h"

#include <stdbool.h>
#include <stdint.h>

#include "analyse/functions.h"
#include "binding/columns.h"
#include "store/recording.h"

/* Each type has a documentation string: 3.9.2 and older crash without. */
static PyStructSequence_Field getstats_code_fields[] = {
    {"co_filename", NULL}, {"co_firstlineno", NULL}, {"co_name", NULL}, {"co_qualname", NULL}, {NULL, NULL}};
static PyStructSequence_Desc getstats_code_desc = {"sonde._binding.profiler_code",
                                                   "What is known of a Python function's code object.",
                                                   getstats_code_fields, 4};

static PyStructSequence_Field getstats_subentry_fields[] = {
    {"code", "the called function: a stand-in for its code object, or a str for a C function"},
    {"callcount", "how many times it was called from the function above"},
    {"reccallcount", "how many of these calls were recursive"},
    {"totaltime", "seconds in it when called from there, with what it called"},
    {"inlinetime", "seconds in it alone when called from there"},
    {NULL, NULL}};
static PyStructSequence_Desc getstats_subentry_desc = {
    "sonde._binding.profiler_subentry", "One function called by another.", getstats_subentry_fields, 5};

static PyStructSequence_Field getstats_entry_fields[] = {
    {"code", "the function: a stand-in for its code object, or a str for a C function"},
    {"callcount", "how many times it was called"},
    {"reccallcount", "how many of these calls were recursive"},
    {"totaltime", "seconds in it, with what it called"},
    {"inlinetime", "seconds in it alone"},
    {"calls", "what it called: a list of profiler_subentry, or None"},
    {NULL, NULL}};
static PyStructSequence_Desc getstats_entry_desc = {
    "sonde._binding.profiler_entry", "One function and what it called.", getstats_entry_fields, 6};

static PyTypeObject *getstats_type_new(PyObject *module, const char *name, PyStructSequence_Desc *desc)
{
    PyTypeObject *type = PyStructSequence_NewType(desc);

    if (!type)
        return NULL;
    Py_INCREF(type);
    if (PyModule_AddObject(module, name, (PyObject *)type) < 0) {
        Py_DECREF(type);
        Py_DECREF(type);
        return NULL;
    }
    return type;
}

int getstats_types_init(struct getstats_types *types, PyObject *module)
{
    types->code = getstats_type_new(module, "profiler_code", &getstats_code_desc);
    if (!types->code)
        return -1;
    types->entry = getstats_type_new(module, "profiler_entry", &getstats_entry_desc);
    if (!types->entry)
        return -1;
    types->subentry = getstats_type_new(module, "profiler_subentry", &getstats_subentry_desc);
    return types->subentry ? 0 : -1;
}

int getstats_types_visit(struct getstats_types *types, visitproc visit, void *arg)
{
    Py_VISIT(types->code);
    Py_VISIT(types->entry);
    Py_VISIT(types->subentry);
    return 0;
}

void getstats_types_clear(struct getstats_types *types)
{
    Py_CLEAR(types->code);
    Py_CLEAR(types->entry);
    Py_CLEAR(types->subentry);
}

/* Gives the value away to the sequence; a value of NULL (a failure before) makes the answer false. */
static bool getstats_put(PyObject *sequence, Py_ssize_t place, PyObject *value)
{
    if (value)
        PyStructSequence_SetItem(sequence, place, value);
    return value != NULL;
}

static PyObject *getstats_code(const struct getstats_types *types, const struct recording *recording,
                               const struct code *code)
{
    PyObject *name = columns_text(recording, code->name);
    PyObject *stand_in;

    if (code->kind != CODE_PYTHON || !name)
        return name;
    stand_in = PyStructSequence_New(types->code);
    if (!stand_in) {
        Py_DECREF(name);
        return NULL;
    }
    PyStructSequence_SetItem(stand_in, 2, name);
    if (getstats_put(stand_in, 0, columns_text(recording, code->file)) &&
        getstats_put(stand_in, 1, PyLong_FromUnsignedLong(code->line)) &&
        getstats_put(stand_in, 3, columns_text(recording, code->qualname)))
        return stand_in;
    Py_DECREF(stand_in);
    return NULL;
}

struct getstats_times {
    uint64_t calls, primitive_calls, total_ns, self_ns;
};

/* The five fields that an entry and a subentry share; `code` is borrowed. */
static PyObject *getstats_row(PyTypeObject *type, PyObject *code, const struct getstats_times *times)
{
    PyObject *row = PyStructSequence_New(type);
    uint64_t recursive = times->calls > times->primitive_calls ? times->calls - times->primitive_calls : 0;

    if (!row)
        return NULL;
    Py_INCREF(code);
    PyStructSequence_SetItem(row, 0, code);
    if (getstats_put(row, 1, PyLong_FromUnsignedLongLong(times->calls)) &&
        getstats_put(row, 2, PyLong_FromUnsignedLongLong(recursive)) &&
        getstats_put(row, 3, PyFloat_FromDouble((double)times->total_ns / 1e9)) &&
        getstats_put(row, 4, PyFloat_FromDouble((double)times->self_ns / 1e9)))
        return row;
    Py_DECREF(row);
    return NULL;
}

/* By code id: the object that stands for the function, and the list of what it called. */
struct getstats_slot {
    PyObject *code, *calls;
};

static int getstats_fill_slots(const struct getstats_types *types, const struct recording *recording,
                               const struct functions *functions, struct getstats_slot *slots)
{
    for (uint32_t i = 0; i < functions->row_count; i++) {
        uint32_t code = functions->rows[i].code;

        slots[code].code = getstats_code(types, recording, &recording->codes[code]);
        if (!slots[code].code)
            return -1;
    }
    return 0;
}

static int getstats_add_call(const struct getstats_types *types, struct getstats_slot *slots,
                             const struct edge_row *edge)
{
    struct getstats_times times = {edge->calls, edge->primitive_calls, edge->total, edge->self};
    PyObject *row;
    int failed;

    if (!slots[edge->caller].code || !slots[edge->callee].code)
        return 0;
    if (!slots[edge->caller].calls)
        slots[edge->caller].calls = PyList_New(0);
    if (!slots[edge->caller].calls)
        return -1;
    row = getstats_row(types->subentry, slots[edge->callee].code, &times);
    if (!row)
        return -1;
    failed = PyList_Append(slots[edge->caller].calls, row);
    Py_DECREF(row);
    return failed;
}

static PyObject *getstats_entry(const struct getstats_types *types, const struct getstats_slot *slots,
                                const struct function_row *function)
{
    struct getstats_times times = {function->calls, function->primitive_calls, function->total,
                                   function->self};
    PyObject *row = getstats_row(types->entry, slots[function->code].code, &times);
    PyObject *calls = slots[function->code].calls ? slots[function->code].calls : Py_None;

    if (!row)
        return NULL;
    Py_INCREF(calls);
    PyStructSequence_SetItem(row, 5, calls);
    return row;
}

static PyObject *getstats_from_slots(const struct getstats_types *types, const struct functions *functions,
                                     const struct getstats_slot *slots)
{
    PyObject *list = PyList_New((Py_ssize_t)functions->row_count);

    for (uint32_t i = 0; list && i < functions->row_count; i++) {
        PyObject *entry = getstats_entry(types, slots, &functions->rows[i]);

        if (!entry || PyList_SetItem(list, (Py_ssize_t)i, entry) < 0)
            Py_CLEAR(list);
    }
    return list;
}

PyObject *getstats_list(const struct getstats_types *types, const struct recording *recording,
                        const struct functions *functions)
{
    struct getstats_slot *slots = PyMem_Calloc((size_t)recording->codes_count + 1, sizeof *slots);
    PyObject *list = NULL;
    int failed;

    if (!slots)
        return PyErr_NoMemory();
    failed = getstats_fill_slots(types, recording, functions, slots);
    for (uint32_t i = 0; !failed && i < functions->edge_count; i++)
        failed = getstats_add_call(types, slots, &functions->edges[i]);
    if (!failed)
        list = getstats_from_slots(types, functions, slots);
    for (uint32_t i = 0; i < recording->codes_count; i++) {
        Py_XDECREF(slots[i].code);
        Py_XDECREF(slots[i].calls);
    }
    PyMem_Free(slots);
    return list;
}
