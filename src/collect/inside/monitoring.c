#include "collect/inside/monitoring.h"

#include <stdio.h>
#include <string.h>

#include "collect/inside/setprofile.h"
#include "collect/inside/tracer.h"

typedef PyObject *vectorcall(PyObject *self, PyObject *const *arguments, size_t count, PyObject *names);

struct callback {
    PyObject base;
    vectorcall *function;
};

static PyObject *monitoring;     /* the module sys.monitoring */
static PyObject *disable_object; /* sys.monitoring.DISABLE */
static PyObject *missing_object; /* sys.monitoring.MISSING */
static long tool = -1;
static bool has_c_calls;
static bool has_disabled; /* a place was switched off since the last restart */

/* None is immortal in every version that has sys.monitoring: no reference needs to be counted. */
static inline PyObject *answer(enum tracer_wish wish)
{
    if (__builtin_expect(wish == TRACER_GO_ON, 1))
        return Py_None;
    has_disabled = true;
    Py_INCREF(disable_object);
    return disable_object;
}

static __attribute__((noinline)) PyObject *start_the_long_way(PyObject *code)
{
    struct lane *lane = tracer_lane();
    return lane ? answer(tracer_enter(lane, (uint64_t)code, code, CALLEE_PYTHON)) : Py_None;
}

static PyObject *on_start(PyObject *self, PyObject *const *arguments, size_t count, PyObject *names)
{
    (void)self, (void)count, (void)names;
    PyObject *code = arguments[0];
    return tracer_enter_quickly((uint64_t)code) ? Py_None : start_the_long_way(code);
}

static __attribute__((noinline)) PyObject *return_the_long_way(PyObject *code)
{
    struct lane *lane = tracer_lane();
    return lane ? answer(tracer_leave(lane, (uint64_t)code)) : Py_None;
}

static PyObject *on_return(PyObject *self, PyObject *const *arguments, size_t count, PyObject *names)
{
    (void)self, (void)count, (void)names;
    PyObject *code = arguments[0];
    return tracer_leave_quickly((uint64_t)code) ? Py_None : return_the_long_way(code);
}

/* Unwinding and throwing are not tied to one place in the code and cannot be switched off there. */
static PyObject *on_unwind(PyObject *self, PyObject *const *arguments, size_t count, PyObject *names)
{
    PyObject *wish = on_return(self, arguments, count, names);
    if (wish != Py_None)
        Py_DECREF(wish);
    return Py_None;
}

static PyObject *on_throw(PyObject *self, PyObject *const *arguments, size_t count, PyObject *names)
{
    PyObject *wish = on_start(self, arguments, count, names);
    if (wish != Py_None)
        Py_DECREF(wish);
    return Py_None;
}

/* What identifies the C function that is called: a built-in function or a method descriptor with its self, as
 * cProfile counts them. 0 for everything else (classes, callable objects). */
static inline uint64_t c_key(PyObject *callable, PyObject *first_argument)
{
    PyTypeObject *type = Py_TYPE(callable);
    if (type == &PyCFunction_Type)
        return interpreter_builtin_key(callable);
    if (type == interpreter.method_descriptor_type)
        return first_argument == missing_object ? 0 : interpreter_descriptor_key(callable);
    return PyType_IsSubtype(type, &PyCFunction_Type) ? interpreter_builtin_key(callable) : 0;
}

static __attribute__((noinline)) PyObject *call_c(PyObject *const *arguments)
{
    PyObject *callable = arguments[2];
    uint64_t key = c_key(callable, arguments[3]);
    if (!key || tracer_enter_quickly(key))
        return Py_None;
    struct lane *lane = tracer_lane();
    if (!lane)
        return Py_None;
    if (__builtin_expect(lane->first->trace->may_leave_out, 0) &&
        tracer_leaves_out(lane, (uint64_t)arguments[0]))
        return answer(TRACER_NOT_AGAIN);
    tracer_enter(lane, key, callable, CALLEE_C);
    return Py_None;
}

/* Comes for calls of Python functions too, which on_start will see: those must cost next to nothing here. */
static PyObject *on_call(PyObject *self, PyObject *const *arguments, size_t count, PyObject *names)
{
    (void)self, (void)count, (void)names;
    return Py_TYPE(arguments[2]) == interpreter.function_type ? Py_None : call_c(arguments);
}

static PyObject *on_c_return(PyObject *self, PyObject *const *arguments, size_t count, PyObject *names)
{
    (void)self, (void)count, (void)names;
    uint64_t key = c_key(arguments[2], arguments[3]);
    if (!key || tracer_leave_quickly(key))
        return Py_None;
    struct lane *lane = tracer_lane();
    if (!lane)
        return Py_None;
    if (__builtin_expect(lane->first->trace->may_leave_out, 0) &&
        tracer_leaves_out(lane, (uint64_t)arguments[0]))
        return Py_None;
    tracer_leave(lane, key);
    return Py_None;
}

static const struct {
    const char *event;
    vectorcall *function;
    bool c_call;
} events[] = {
    {"PY_START", on_start, false},   {"PY_RESUME", on_start, false},  {"PY_THROW", on_throw, false},
    {"PY_RETURN", on_return, false}, {"PY_YIELD", on_return, false},  {"PY_UNWIND", on_unwind, false},
    {"CALL", on_call, true},         {"C_RETURN", on_c_return, true}, {"C_RAISE", on_c_return, true},
};

static PyObject *callback_call(PyObject *self, PyObject *arguments, PyObject *names)
{
    return interpreter.vectorcall_call(self, arguments, names);
}

static void callback_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static PyObject *new_callback_type(void)
{
    /* As PyMemberDef, whose header is not part of the limited API of 3.9. */
    static struct {
        const char *name;
        int type;
        Py_ssize_t offset;
        int flags;
        const char *doc;
    } members[] = {
        {"__vectorcalloffset__", 19 /* Py_T_PYSSIZET */, offsetof(struct callback, function), 1, NULL},
        {NULL, 0, 0, 0, NULL},
    };
    static PyType_Slot slots[] = {
        {Py_tp_members, members},
        {Py_tp_call, callback_call},
        {Py_tp_dealloc, callback_free},
        {0, NULL},
    };
    static PyType_Spec spec = {
        .name = "sonde._inside.callback",
        .basicsize = sizeof(struct callback),
        .flags = Py_TPFLAGS_DEFAULT | 1ul << 11 /* has a vectorcall slot */,
        .slots = slots,
    };
    return PyType_FromSpec(&spec);
}

static int register_callback(PyObject *type, long event, vectorcall *function)
{
    allocfunc allocate = (allocfunc)PyType_GetSlot((PyTypeObject *)type, Py_tp_alloc);
    struct callback *callback = (struct callback *)allocate((PyTypeObject *)type, 0);
    if (!callback)
        return -1;
    callback->function = function;
    PyObject *result =
        PyObject_CallMethod(monitoring, "register_callback", "llO", tool, event, (PyObject *)callback);
    Py_DECREF((PyObject *)callback);
    Py_XDECREF(result);
    return result ? 0 : -1;
}

static long event_number(const char *name)
{
    PyObject *events_object = PyObject_GetAttrString(monitoring, "events");
    PyObject *value = events_object ? PyObject_GetAttrString(events_object, name) : NULL;
    long number = value ? PyLong_AsLong(value) : -1;
    Py_XDECREF(value);
    Py_XDECREF(events_object);
    return number;
}

static int register_callbacks(void)
{
    PyObject *type = new_callback_type();
    int result = type ? 0 : -1;
    for (size_t i = 0; result == 0 && i < sizeof events / sizeof *events; i++) {
        long number = event_number(events[i].event);
        result = number < 0 ? -1 : register_callback(type, number, events[i].function);
    }
    Py_XDECREF(type);
    return result;
}

/* Ids 3 and 4 have no customary owner; then whatever is free. */
static int take_tool_id(void)
{
    static const long preferred[] = {4, 3, 2, 5, 1, 0};
    for (size_t i = 0; i < sizeof preferred / sizeof *preferred; i++) {
        PyObject *result = PyObject_CallMethod(monitoring, "use_tool_id", "ls", preferred[i], "sonde");
        if (result) {
            Py_DECREF(result);
            tool = preferred[i];
            return 0;
        }
        PyErr_Clear();
    }
    return -1;
}

static void describe_holders(char *why, size_t why_bytes)
{
    size_t used = (size_t)snprintf(why, why_bytes, "all six tool ids of sys.monitoring are taken:");
    for (long id = 0; id < 6 && used < why_bytes; id++) {
        PyObject *name = PyObject_CallMethod(monitoring, "get_tool", "l", id);
        PyObject *bytes = name && PyUnicode_Check(name) ? interpreter_utf8(name) : NULL;
        used += (size_t)snprintf(why + used, why_bytes - used, " %s", bytes ? PyBytes_AsString(bytes) : "?");
        Py_XDECREF(bytes);
        Py_XDECREF(name);
        PyErr_Clear();
    }
}

static int prepare(char *why, size_t why_bytes)
{
    if (tool >= 0)
        return 0;
    PyObject *module = PySys_GetObject("monitoring");
    if (!module) {
        snprintf(why, why_bytes, "this CPython has no sys.monitoring");
        return -1;
    }
    Py_INCREF(module);
    monitoring = module;
    disable_object = PyObject_GetAttrString(module, "DISABLE");
    missing_object = PyObject_GetAttrString(module, "MISSING");
    if (!disable_object || !missing_object || take_tool_id() < 0) {
        describe_holders(why, why_bytes);
        return -1;
    }
    if (register_callbacks() == 0)
        return 0;
    snprintf(why, why_bytes, "sys.monitoring refused the callbacks");
    return -1;
}

/* What one trace leaves out another, which begins now, may want. */
static void switch_on_again(void)
{
    if (!has_disabled)
        return;
    has_disabled = false;
    PyObject *done = PyObject_CallMethod(monitoring, "restart_events", NULL);
    if (!done)
        PyErr_Clear();
    Py_XDECREF(done);
}

bool monitoring_has_c_calls(void)
{
    return has_c_calls;
}

int monitoring_set(bool active, bool c_calls, char *why, size_t why_bytes)
{
    if (!active && tool < 0)
        return 0;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    int result = prepare(why, why_bytes);
    unsigned long mask = 0;
    for (size_t i = 0; result == 0 && active && i < sizeof events / sizeof *events; i++)
        if (c_calls || !events[i].c_call)
            mask |= (unsigned long)event_number(events[i].event);
    PyObject *done = result == 0 ? PyObject_CallMethod(monitoring, "set_events", "lk", tool, mask) : NULL;
    if (result == 0 && !done) {
        snprintf(why, why_bytes, "sys.monitoring refused the events");
        result = -1;
    }
    Py_XDECREF(done);
    has_c_calls = result == 0 && active && c_calls;
    if (result == 0 && active) {
        switch_on_again();
        setprofile_watch();
    }
    PyErr_Restore(type, value, traceback);
    return result;
}
