#include "collect/inside/monitoring.h"

#include <stdio.h>

#include "collect/inside/monitoring_tool.h"
#include "collect/inside/setprofile.h"
#include "collect/inside/superinstructions.h"
#include "collect/inside/tracer.h"

static struct monitoring_tool tool = {.wish = 4};
static bool has_c_calls;
static bool has_disabled; /* a place was switched off since the last restart */

/* None is immortal in every version that has sys.monitoring: no reference needs to be counted. */
static inline PyObject *answer(enum tracer_wish wish)
{
    if (__builtin_expect(wish == TRACER_GO_ON, 1))
        return Py_None;
    has_disabled = true;
    Py_INCREF(monitoring_tool_disable);
    return monitoring_tool_disable;
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
        return first_argument == monitoring_tool_missing ? 0 : interpreter_descriptor_key(callable);
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

static const struct monitoring_event events[] = {
    {"PY_START", on_start},   {"PY_RESUME", on_start},   {"PY_THROW", on_throw},
    {"PY_RETURN", on_return}, {"PY_YIELD", on_return},   {"PY_UNWIND", on_unwind},
    {"CALL", on_call},        {"C_RETURN", on_c_return}, {"C_RAISE", on_c_return},
};
enum { EVENTS = sizeof events / sizeof *events, C_EVENTS = 3 /* the last ones */ };

/* What one trace leaves out another, which begins now, may want. */
static void switch_on_again(void)
{
    if (!has_disabled)
        return;
    has_disabled = false;
    monitoring_tool_restart();
}

bool monitoring_has_c_calls(void)
{
    return has_c_calls;
}

int monitoring_set(bool active, bool c_calls, char *why, size_t why_bytes)
{
    if (!active && !tool.is_open)
        return 0;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    superinstructions_learn();
    int result = monitoring_tool_open(&tool, events, EVENTS, why, why_bytes);
    unsigned long mask = 0;
    for (size_t i = 0; result == 0 && active && i < (c_calls ? EVENTS : EVENTS - C_EVENTS); i++)
        mask |= monitoring_tool_event(events[i].name);
    if (result == 0 && monitoring_tool_set(&tool, mask) < 0) {
        snprintf(why, why_bytes, "sys.monitoring refused the events");
        result = -1;
    }
    has_c_calls = result == 0 && active && c_calls;
    if (result == 0 && active) {
        switch_on_again();
        setprofile_watch();
    }
    PyErr_Restore(type, value, traceback);
    return result;
}
