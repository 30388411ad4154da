#include "collect/inside/line_events.h"

#include <stdio.h>

#include "collect/inside/line_clock.h"
#include "collect/inside/line_debugger.h"
#include "collect/inside/line_session.h"
#include "collect/inside/monitoring_tool.h"
#include "collect/inside/superinstructions.h"

#define LOOK_NS           3000u     /* what looking at one function again costs, roughly */
#define LOOK_SHARE        128u      /* at most one part in so many of the time goes into it */
#define FIRST_INTERVAL_NS 10000000u /* between two looks at all functions */
#define LAST_INTERVAL_NS  2000000000u

static struct monitoring_tool tool = {.wish = 3}; /* a line is in its call */
static unsigned long chosen_events, callee_events;
static size_t digit_offset; /* where an int keeps its value, if it is small; 0 = ask the interpreter */

static struct {
    uint64_t due_ticks;
    uint64_t interval_ns;
    uint64_t looks; /* since the last time */
    bool found;     /* something new, since then */
    double ticks_per_ns;
} again;

/* None is immortal in every version that has sys.monitoring: no reference needs to be counted. */
static PyObject *not_again(PyObject *code)
{
    superinstructions_restore_soon(code);
    Py_INCREF(monitoring_tool_disable);
    return monitoring_tool_disable;
}

static inline uint32_t number_of(PyObject *object)
{
    if (__builtin_expect(digit_offset != 0, 1))
        return *(uint32_t *)((char *)object + digit_offset);
    return (uint32_t)PyLong_AsLong(object);
}

void line_events_choose(PyObject *code)
{
    if (monitoring_tool_set_local(&tool, code, chosen_events) < 0)
        PyErr_Clear();
    again.found = true;
    again.due_ticks = 0;
}

/* From now on the function's calls are timed. */
static bool make_callee(PyObject *code)
{
    PyObject *type, *value, *traceback;
    int64_t heap = line_memory_own_begin();
    PyErr_Fetch(&type, &value, &traceback);
    bool made =
        line_codes_set(code, LINE_CALLEE) && monitoring_tool_set_local(&tool, code, callee_events) == 0;
    PyErr_Restore(type, value, traceback);
    line_memory_own_end(heap);
    again.found |= made;
    return made;
}

/* ---- looking again ---- */

static __attribute__((noinline)) void look_again(uint64_t now)
{
    uint64_t cost_ns = again.looks * LOOK_NS * LOOK_SHARE;
    again.interval_ns = again.found ? FIRST_INTERVAL_NS : again.interval_ns * 2;
    if (again.interval_ns > LAST_INTERVAL_NS)
        again.interval_ns = LAST_INTERVAL_NS;
    uint64_t wait_ns = again.interval_ns > cost_ns ? again.interval_ns : cost_ns;
    again.due_ticks = now + (uint64_t)((double)wait_ns * again.ticks_per_ns);
    again.looks = 0;
    again.found = false;
    PyObject *type, *value, *traceback;
    int64_t heap = line_memory_own_begin();
    PyErr_Fetch(&type, &value, &traceback);
    monitoring_tool_restart();
    PyErr_Restore(type, value, traceback);
    line_memory_own_end(heap);
}

void line_events_look_again(void)
{
    look_again(line_clock_now());
}

static inline void look_again_if_due(uint64_t now)
{
    if (__builtin_expect(now >= again.due_ticks, 0))
        look_again(now);
}

/* ---- events ---- */

static __attribute__((noinline)) struct arena_line_call *find_call(PyObject *code, uint64_t now)
{
    struct line_thread *thread = line_clock_thread();
    struct line_code *function = line_codes_find(code);
    if (!thread || !function || function->choice != LINE_CHOSEN)
        return NULL;
    if (!function->line_count)
        line_codes_describe(function);
    return line_clock_find(thread, function, now);
}

static PyObject *on_line(PyObject *self, PyObject *const *arguments, size_t count, PyObject *names)
{
    (void)self, (void)count, (void)names;
    uint64_t now = line_clock_now();
    struct arena_line_call *call = line_clock_own->top;
    if (__builtin_expect(call->key != (uint64_t)arguments[0], 0))
        call = find_call(arguments[0], now);
    if (call)
        line_clock_line(call, number_of(arguments[1]), now);
    look_again_if_due(now);
    if (__builtin_expect(line_memory.is_over_limit, 0) && line_debugger_stop() < 0)
        return NULL;
    return Py_None;
}

/* A function that is not chosen has begun, or goes on. */
static PyObject *enter_other(struct line_thread *thread, struct line_code *function, PyObject *code,
                             uint64_t now)
{
    if (function->choice == LINE_CALLEE) {
        if (thread->top->key)
            line_clock_enter_callee(thread, (uint64_t)code, now);
        return Py_None;
    }
    again.looks++;
    if (!line_clock_in_line(thread) || function->is_comprehension || !make_callee(code))
        return not_again(code);
    line_clock_enter_callee(thread, (uint64_t)code, line_clock_now());
    return Py_None;
}

static PyObject *enter(PyObject *code, PyObject *offset)
{
    uint64_t now = line_clock_now();
    struct line_code *function = line_codes_find(code);
    if (!function || line_codes_is_stale(function))
        function = line_session_look(code, PyEval_GetGlobals());
    if (!function)
        return not_again(code);
    if (function->choice != LINE_CHOSEN)
        return enter_other(line_clock_present(), function, code, now);
    struct line_thread *thread = line_clock_thread();
    if (__builtin_expect(!thread, 0))
        return Py_None;
    if (__builtin_expect(!function->line_count, 0))
        line_codes_describe(function);
    uint32_t line = offset ? line_codes_line(function, code, number_of(offset)) : 0;
    line_clock_enter(thread, function, line, now);
    if (__builtin_expect(line_clock.is_logged && line, 0))
        line_clock_log_rest((uint64_t)code, now);
    look_again_if_due(now);
    return Py_None;
}

static PyObject *on_start(PyObject *self, PyObject *const *arguments, size_t count, PyObject *names)
{
    (void)self, (void)count, (void)names;
    return enter(arguments[0], NULL);
}

static PyObject *on_resume(PyObject *self, PyObject *const *arguments, size_t count, PyObject *names)
{
    (void)self, (void)count, (void)names;
    return enter(arguments[0], arguments[1]);
}

/* Throwing is not tied to one place in the code and cannot be switched off there. */
static PyObject *on_throw(PyObject *self, PyObject *const *arguments, size_t count, PyObject *names)
{
    (void)self, (void)count, (void)names;
    PyObject *wish = enter(arguments[0], arguments[1]);
    if (wish != Py_None)
        Py_DECREF(wish);
    return Py_None;
}

static PyObject *on_leave(PyObject *self, PyObject *const *arguments, size_t count, PyObject *names)
{
    (void)self, (void)count, (void)names;
    struct line_thread *thread = line_clock_present();
    if (!thread->top->key)
        return Py_None;
    uint64_t key = (uint64_t)arguments[0], now = line_clock_now();
    if (thread->top->callee == key) {
        line_clock_leave_callee(thread, key, now);
        return Py_None;
    }
    struct line_code *function = line_codes_find(arguments[0]);
    if (function && function->choice == LINE_CHOSEN)
        line_clock_leave(thread, function, now);
    return Py_None;
}

static const struct monitoring_event events[] = {
    {"LINE", on_line},      {"PY_START", on_start}, {"PY_RESUME", on_resume}, {"PY_RETURN", on_leave},
    {"PY_YIELD", on_leave}, {"PY_THROW", on_throw}, {"PY_UNWIND", on_leave},
};

/* ---- beginning ---- */

/* Where the value lies is tried out, with one that has all its bits somewhere else. */
static size_t find_digit(void)
{
    static const long tries[] = {3, 300, 0x2badcafe};
    size_t offset = 24;
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        PyObject *number = PyLong_FromLong(tries[i]);
        if (!number || *(uint32_t *)((char *)number + offset) != (uint32_t)tries[i])
            offset = 0;
        Py_XDECREF(number);
        if (!offset)
            break;
    }
    return offset;
}

static unsigned long mask_of(const char *const *names, size_t count)
{
    unsigned long mask = 0;
    for (size_t i = 0; i < count; i++)
        mask |= monitoring_tool_event(names[i]);
    return mask;
}

/* Functions may have been chosen before there was anybody to tell: by a set-up script. */
static void choose_again(void)
{
    for (struct line_code *function = line_codes_first(); function; function = function->next)
        if (function->code && function->choice == LINE_CHOSEN)
            line_events_choose((PyObject *)function->code);
}

int line_events_begin(char *why, size_t why_bytes)
{
    static const char *const own[] = {"PY_START", "PY_RESUME", "PY_RETURN", "PY_YIELD", "LINE"};
    static const char *const of_all[] = {"PY_START", "PY_RESUME", "PY_THROW", "PY_UNWIND"};
    if (monitoring_tool_open(&tool, events, sizeof events / sizeof *events, why, why_bytes) < 0)
        return -1;
    digit_offset = find_digit();
    superinstructions_learn();
    chosen_events = mask_of(own, 5);
    callee_events = mask_of(own, 4);
    again.interval_ns = FIRST_INTERVAL_NS;
    again.due_ticks = 0;
    again.ticks_per_ns = line_session_ticks_per_ns();
    choose_again();
    if (monitoring_tool_set(&tool, mask_of(of_all, 4)) == 0)
        return 0;
    PyErr_Clear();
    snprintf(why, why_bytes, "sys.monitoring refused the events");
    return -1;
}

void line_events_end(void)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    for (struct line_code *function = line_codes_first(); function; function = function->next)
        if (function->code && function->choice != LINE_OTHER &&
            monitoring_tool_set_local(&tool, (PyObject *)function->code, 0) < 0)
            PyErr_Clear();
    if (monitoring_tool_set(&tool, 0) < 0)
        PyErr_Clear();
    PyErr_Restore(type, value, traceback);
}
