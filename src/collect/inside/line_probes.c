#include "collect/inside/line_probes.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "collect/inside/line_clock.h"
#include "collect/inside/line_debugger.h"
#include "collect/inside/line_hook.h"
#include "collect/inside/probe_code.h"
#include "python/layouts.h"

#define STACK_OF_CALLS 3 /* what a call that is ended by an exception needs (probe_code.h) */

struct probe {
    PyObject ob_base;
    struct line_code *function; /* lives as long as its copy does */
    uint32_t line;
    uint8_t when; /* enum probe_when */
};

static struct layout layout; /* empty = nothing has probes */
static PyTypeObject *probe_type, *enter_type, *leave_type, *frame_type;

static char *field(void *object, uint32_t offset)
{
    return (char *)object + offset;
}

static int *stack_size_of(PyObject *code)
{
    return (int *)(void *)field(code, layout.code_stack_size);
}

/* ---- probes ---- */

/* The first line of the first call: now the function runs, and can be described. */
static __attribute__((noinline)) void describe(struct line_code *function, struct arena_line_call *call)
{
    if (!function->line_count)
        line_codes_describe(function);
    line_clock_set_rows(line_clock_own, function, call);
}

static bool is_quiet(const struct line_code *function, uint32_t line)
{
    for (uint32_t i = 0; i < function->quiet_count; i++)
        if (function->quiet_lines[i] == line)
            return true;
    return false;
}

/* Whether a line that may begin here does. */
static __attribute__((noinline)) bool begins(const struct probe *probe, struct arena_line_call *call)
{
    uint32_t line = call->first_line + (call->row - call->first_row);
    bool goes_on = interpreter.minor > 9 ? line == probe->line : is_quiet(probe->function, line);
    if (probe->when == PROBE_MARK) {
        call->raised_again = 1;
        return false;
    }
    bool does = !goes_on || call->raised_again;
    call->raised_again = !does && interpreter.minor == 9;
    return does;
}

static PyObject *on_probe(PyObject *self)
{
    const struct probe *probe = (const struct probe *)self;
    struct arena_line_call *call = line_clock_own->top;
    Py_INCREF(self);
    if (__builtin_expect(call->owner != (uint64_t)probe->function, 0) &&
        !(call = line_hook_find(probe->function)))
        return self;
    if (__builtin_expect(!call->line_count, 0))
        describe(probe->function, call);
    if (__builtin_expect(probe->when == PROBE_ALWAYS, 1) || begins(probe, call))
        line_clock_line(call, probe->line, line_clock_now());
    if (__builtin_expect(line_memory.is_over_limit, 0) && line_debugger_stop() < 0) {
        Py_DECREF(self);
        return NULL;
    }
    return self;
}

static PyObject *on_enter(PyObject *self)
{
    const struct probe *probe = (const struct probe *)self;
    line_hook_enter(probe->function, probe->line);
    Py_INCREF(self);
    return self;
}

static PyObject *on_leave(PyObject *self)
{
    line_hook_leave(((const struct probe *)self)->function);
    Py_INCREF(self);
    return self;
}

static PyTypeObject *make_type(const char *name, unaryfunc positive)
{
    PyType_Slot slots[] = {
        {Py_nb_positive, positive},
        {Py_tp_doc, "Marks a place in code whose lines are timed."},
        {0, NULL},
    };
    PyType_Spec spec = {
        .name = name, .basicsize = sizeof(struct probe), .flags = Py_TPFLAGS_DEFAULT, .slots = slots};
    return (PyTypeObject *)PyType_FromSpec(&spec);
}

const struct layout *line_probes_layout(void)
{
    return layout.version ? &layout : NULL;
}

void line_probes_init(void)
{
    struct err err = {0};
    struct memory memory = memory_own();
    if (layout.version || interpreter.has_monitoring)
        return;
    frame_type = interpreter_find("PyFrame_Type");
    uint64_t runtime = (uint64_t)interpreter_find("_PyRuntime");
    if (layouts_read(&memory, runtime, interpreter.version, &layout, &err) < 0 ||
        layouts_check(&layout, &memory, (uint64_t)interpreter.code_type, &err) < 0 ||
        !(probe_type = make_type("sonde.probe", on_probe)) ||
        !(enter_type = make_type("sonde.enter", on_enter)) ||
        !(leave_type = make_type("sonde.leave", on_leave)))
        layout = (struct layout){0};
    PyErr_Clear();
}

/* ---- where code comes from ---- */

static int32_t number_at(PyObject *tuple, Py_ssize_t at, int32_t absent)
{
    PyObject *number = PyTuple_GetItem(tuple, at);
    return number && PyLong_Check(number) ? (int32_t)PyLong_AsLong(number) : absent;
}

/* 3.11: a tuple for each unit. */
static void place_exactly(PyObject *row, struct probe_place *places, size_t units, size_t *at)
{
    if (*at < units)
        places[*at] = (struct probe_place){.line = (uint32_t)number_at(row, 0, 0),
                                           .end_line = (uint32_t)number_at(row, 1, 0),
                                           .column = number_at(row, 2, -1),
                                           .end_column = number_at(row, 3, -1)};
    ++*at;
}

/* 3.10: a tuple for each run of bytes. */
static void place_run(PyObject *row, struct probe_place *places, size_t units, size_t *at)
{
    size_t end = (size_t)number_at(row, 1, 0) / PROBE_PLAN_UNIT_BYTES;
    for (*at = (size_t)number_at(row, 0, 0) / PROBE_PLAN_UNIT_BYTES; *at < end && *at < units; ++*at)
        places[*at] = (struct probe_place){.line = (uint32_t)number_at(row, 2, 0)};
}

static bool place_by_iterator(PyObject *code, const char *method, struct probe_place *places, size_t units)
{
    PyObject *rows = PyObject_CallMethod(code, method, NULL);
    PyObject *iterator = rows ? PyObject_GetIter(rows) : NULL, *row;
    size_t at = 0;
    while (iterator && (row = PyIter_Next(iterator))) {
        if (PyTuple_Check(row) && PyTuple_Size(row) == 4)
            place_exactly(row, places, units, &at);
        else if (PyTuple_Check(row) && PyTuple_Size(row) == 3)
            place_run(row, places, units, &at);
        Py_DECREF(row);
    }
    Py_XDECREF(iterator);
    Py_XDECREF(rows);
    return at == units;
}

/* 3.9: pairs of bytes since the last change and the change, which is signed. */
static bool place_by_table(PyObject *code, uint32_t line, struct probe_place *places, size_t units)
{
    PyObject *table = PyObject_GetAttrString(code, "co_lnotab");
    const uint8_t *bytes = table && PyBytes_Check(table) ? (const uint8_t *)PyBytes_AsString(table) : NULL;
    size_t size = bytes ? (size_t)PyBytes_Size(table) : 0, at = 0, end = 0;
    for (size_t i = 0; i + 1 < size; i += 2) {
        end += bytes[i];
        for (; at < end / PROBE_PLAN_UNIT_BYTES && at < units; at++)
            places[at].line = line;
        line += (uint32_t)(int8_t)bytes[i + 1];
    }
    for (; at < units; at++)
        places[at].line = line;
    Py_XDECREF(table);
    return bytes != NULL;
}

static uint32_t number_of(PyObject *code, const char *name)
{
    PyObject *value = PyObject_GetAttrString(code, name);
    long number = value ? PyLong_AsLong(value) : 0;
    Py_XDECREF(value);
    return number > 0 ? (uint32_t)number : 0;
}

static bool find_places(PyObject *code, struct probe_source *source, struct probe_place *places)
{
    if (interpreter.minor == 9)
        return place_by_table(code, source->first_line, places, source->units);
    return place_by_iterator(code, interpreter.minor == 10 ? "co_lines" : "co_positions", places,
                             source->units);
}

/* ---- the copy ---- */

static PyTypeObject *type_of(const struct probe_line *line)
{
    if (line->when == PROBE_ENTER)
        return enter_type;
    return line->when == PROBE_LEAVE ? leave_type : probe_type;
}

/* The constants of the code, and the probes behind them. */
static PyObject *make_constants(PyObject *constants, const struct probe_code *made,
                                struct line_code *function)
{
    Py_ssize_t count = PyTuple_Size(constants);
    PyObject *all = PyTuple_New(count + (Py_ssize_t)made->probe_count);
    for (Py_ssize_t i = 0; all && i < count; i++) {
        PyObject *constant = PyTuple_GetItem(constants, i);
        Py_INCREF(constant);
        PyTuple_SetItem(all, i, constant);
    }
    for (uint32_t i = 0; all && i < made->probe_count; i++) {
        struct probe *probe = (struct probe *)PyType_GenericAlloc(type_of(&made->probes[i]), 0);
        if (!probe) {
            Py_DECREF(all);
            return NULL;
        }
        probe->function = function;
        probe->line = made->probes[i].line;
        probe->when = made->probes[i].when;
        if (made->probes[i].is_quiet && function->quiet_count < LINE_CODES_QUIET)
            function->quiet_lines[function->quiet_count++] = probe->line;
        PyTuple_SetItem(all, count + (Py_ssize_t)i, (PyObject *)probe);
    }
    if (all) /* there are no cycles in it; and the program may count what the collector follows */
        PyObject_GC_UnTrack(all);
    return all;
}

static bool set_bytes(PyObject *changes, const char *name, const struct bytes *bytes)
{
    PyObject *value = PyBytes_FromStringAndSize((const char *)bytes->data, (Py_ssize_t)bytes->size);
    bool done = value && PyDict_SetItemString(changes, name, value) == 0;
    Py_XDECREF(value);
    return done;
}

static PyObject *replace(PyObject *code, PyObject *constants, const struct probe_code *made)
{
    PyObject *changes = PyDict_New(), *none = PyTuple_New(0);
    PyObject *method = PyObject_GetAttrString(code, "replace"), *copy = NULL;
    if (changes && none && method && PyDict_SetItemString(changes, "co_consts", constants) == 0 &&
        set_bytes(changes, "co_code", &made->code) &&
        set_bytes(changes, interpreter.minor == 9 ? "co_lnotab" : "co_linetable", &made->lines) &&
        (interpreter.minor < 11 || set_bytes(changes, "co_exceptiontable", &made->handlers)))
        copy = PyObject_Call(method, none, changes);
    Py_XDECREF(method);
    Py_XDECREF(none);
    Py_XDECREF(changes);
    return copy;
}

static PyObject *copy_with_probes(PyObject *code, struct probe_source *source, PyObject *constants,
                                  struct line_code *function)
{
    PyObject *copy = NULL, *all = NULL;
    struct probe_code made = {0};
    struct probe_place *places = calloc(source->units + 1, sizeof *places);
    source->places = places;
    if (places && find_places(code, source, places) && probe_code_make(&made, source))
        all = make_constants(constants, &made, function);
    if (all)
        copy = replace(code, all, &made);
    function->arrival = made.arrival;
    function->entry_at = made.entry * PROBE_PLAN_UNIT_BYTES;
    function->comes_back = made.comes_back;
    Py_XDECREF(all);
    probe_code_clear(&made);
    free(places);
    return copy;
}

static PyObject *make_copy(PyObject *code, struct line_code *function)
{
    PyObject *bytes = PyObject_GetAttrString(code, "co_code");
    PyObject *constants = PyObject_GetAttrString(code, "co_consts");
    PyObject *handlers =
        interpreter.minor >= 11 ? PyObject_GetAttrString(code, "co_exceptiontable") : PyBytes_FromString("");
    PyObject *copy = NULL;
    if (bytes && constants && handlers && PyBytes_Check(bytes) && PyTuple_Check(constants) &&
        PyBytes_Check(handlers)) {
        struct probe_source source = {
            .minor = interpreter.minor,
            .code = (const uint8_t *)PyBytes_AsString(bytes),
            .units = (size_t)PyBytes_Size(bytes) / PROBE_PLAN_UNIT_BYTES,
            .handlers = (const uint8_t *)PyBytes_AsString(handlers),
            .handlers_size = (size_t)PyBytes_Size(handlers),
            .first_line = number_of(code, "co_firstlineno"),
            .constants = (uint32_t)PyTuple_Size(constants),
        };
        copy = copy_with_probes(code, &source, constants, function);
    }
    Py_XDECREF(handlers);
    Py_XDECREF(constants);
    Py_XDECREF(bytes);
    return copy;
}

static uint32_t count_of(PyObject *code, const char *name)
{
    PyObject *tuple = PyObject_GetAttrString(code, name);
    uint32_t count = tuple && PyTuple_Check(tuple) ? (uint32_t)PyTuple_Size(tuple) : 0;
    Py_XDECREF(tuple);
    return count;
}

__attribute__((noinline)) bool line_probes_have_copy(struct line_code *function)
{
    PyObject *type, *value, *traceback, *code = (PyObject *)function->code;
    if (function->probed || function->is_unfit)
        return function->probed;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *copy = make_copy(code, function);
    if (copy && line_codes_lend(copy, function))
        function->probed = copy;
    else
        Py_XDECREF(copy);
    function->is_unfit = !function->probed;
    function->slots = (uint32_t)*stack_size_of(code) + number_of(code, "co_nlocals") +
                      count_of(code, "co_cellvars") + count_of(code, "co_freevars");
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
    return function->probed;
}

/* ---- frames ---- */

void line_probes_make_room(struct line_code *function)
{
    PyObject *code = (PyObject *)function->code;
    if (!layout.version || function->has_room)
        return;
    function->has_room = true;
    int *size = stack_size_of(code), least = interpreter.minor >= 11 ? STACK_OF_CALLS : 0;
    *size = *size + 1 > least ? *size + 1 : least;
    if (interpreter.minor >= 11)
        return;
    /* The frame that is kept for the next call lies behind the lines, and is too small. */
    PyObject **kept = (PyObject **)(void *)field(code, layout.code_lines + sizeof(void *));
    if (!*kept || Py_TYPE(*kept) != frame_type)
        return;
    PyObject_GC_Del(*kept);
    *kept = NULL;
}

static bool is_beginning(void *frame, PyObject *code)
{
    char *at = field(frame, layout.frame_instruction);
    if (interpreter.minor < 11)
        return *(int *)(void *)at == -1;
    return *(char **)(void *)at == field(code, layout.code_instructions) - PROBE_PLAN_UNIT_BYTES;
}

/* 3.11: the frame is the last one of its thread's stack, and can grow as long as the chunk lasts. */
static bool make_frame_fit(PyThreadState *state, void *frame, uint32_t slots)
{
    char **top = (char **)(void *)field(state, layout.thread_stack_top);
    char *chunk = *(char **)(void *)field(state, layout.thread_stack_chunk);
    char *end = field(frame, layout.frame_locals) + slots * sizeof(void *);
    if ((char *)frame < chunk || (char *)frame > *top ||
        end > chunk + *(size_t *)(void *)(chunk + LAYOUT_CHUNK_SIZE))
        return false;
    if (*top < end)
        *top = end;
    return true;
}

static bool fits(PyThreadState *state, void *frame, const struct line_code *function)
{
    if (interpreter.minor < 11)
        return *(Py_ssize_t *)(void *)field(frame, layout.object_size) >= (Py_ssize_t)function->slots;
    return make_frame_fit(state, frame, function->slots);
}

static void change_over(void *frame, PyObject *code)
{
    *(PyObject **)(void *)field(frame, layout.frame_code) = code;
    if (interpreter.minor >= 11)
        *(char **)(void *)field(frame, layout.frame_instruction) =
            field(code, layout.code_instructions) - PROBE_PLAN_UNIT_BYTES;
}

void line_probes_arrive(void *frame, struct line_code *function)
{
    Py_INCREF(function->probed);
    change_over(frame, function->probed);
    *(char **)(void *)field(frame, layout.frame_instruction) += function->arrival * PROBE_PLAN_UNIT_BYTES;
}

PyObject *line_probes_put_in(PyThreadState *state, void *frame, struct line_code *function)
{
    PyObject *code = (PyObject *)function->code;
    if (!function->has_room || interpreter_evaluated_code(frame) != code || !is_beginning(frame, code) ||
        !line_probes_have_copy(function) || !fits(state, frame, function))
        return NULL;
    Py_INCREF(function->probed);
    change_over(frame, function->probed);
    return code;
}

/* Up to 3.10 a frame that has ended is used again by the next call of its code. */
void line_probes_take_out(void *frame, struct line_code *function, PyObject *code)
{
    if (interpreter.minor >= 11 || function->is_generator || Py_REFCNT((PyObject *)frame) != 1) {
        Py_DECREF(code);
        return;
    }
    change_over(frame, code);
    Py_DECREF(function->probed);
}

/* Where the frame stands, in bytes of its code; -1 = it begins. A generator of 3.11 has been made already by then. */
static int64_t offset_of(void *frame, const struct line_code *function)
{
    char *at = field(frame, layout.frame_instruction);
    if (interpreter.minor < 11)
        return *(int *)(void *)at * (interpreter.minor == 9 ? 1 : PROBE_PLAN_UNIT_BYTES);
    int64_t offset = *(char **)(void *)at - field(function->probed, layout.code_instructions);
    int first = *(int *)(void *)field(function->probed, layout.code_first_traceable);
    return offset <= (int64_t)first * PROBE_PLAN_UNIT_BYTES ? -1 : offset;
}

uint32_t line_probes_line(void *frame, struct line_code *function)
{
    int64_t offset = offset_of(frame, function);
    return offset < 0 ? 0 : line_codes_line(function, function->probed, (uint32_t)offset);
}
