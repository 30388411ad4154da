#include "collect/inside/mark_events.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "collect/agent/own_memory.h"
#include "collect/inside/marks.h"
#include "collect/inside/monitoring_tool.h"
#include "collect/inside/superinstructions.h"

#define FIRST_BYTES 4096

/* A region that this thread is in, the innermost last. Those of one call lie side by side. */
struct open_region {
    PyObject *code;
    uint32_t region;
};

struct open_regions {
    struct open_region *rows; /* our own memory */
    uint32_t count;
    size_t bytes;
};

static struct monitoring_tool tool = {.wish = 5}; /* a call is in the region that it makes */
static unsigned long marked_events;
static __thread struct open_regions open;
static pthread_key_t at_thread_end;

/* ---- the regions that a thread is in ---- */

static void free_rows(void *rows)
{
    own_memory_unmap(rows, open.bytes);
    open = (struct open_regions){0};
}

static bool grow(void)
{
    size_t bytes = open.bytes ? 2 * open.bytes : FIRST_BYTES;
    struct open_region *rows = own_memory_map(bytes);
    if (!rows)
        return false;
    if (open.rows) {
        memcpy(rows, open.rows, open.count * sizeof *rows);
        own_memory_unmap(open.rows, open.bytes);
    }
    pthread_setspecific(at_thread_end, rows);
    open.rows = rows;
    open.bytes = bytes;
    return true;
}

static void begin(struct mark_code *marked, PyObject *code)
{
    uint32_t regions[marked->count];
    while ((open.count + marked->count) * sizeof *open.rows > open.bytes)
        if (!grow())
            return;
    marks_begin(marked, &(struct mark_call){.code = code}, regions);
    for (uint32_t i = 0; i < marked->count; i++)
        open.rows[open.count++] = (struct open_region){code, regions[i]};
}

/* Those of the innermost call of this function: the last ones, unless stacks were switched (greenlets). */
static void end(const struct mark_code *marked, PyObject *code)
{
    uint32_t last = open.count;
    while (last && open.rows[last - 1].code != code)
        last--;
    if (last < marked->count)
        return;
    uint32_t first = last - marked->count, regions[marked->count];
    for (uint32_t i = 0; i < marked->count; i++)
        regions[i] = open.rows[first + i].region;
    memmove(&open.rows[first], &open.rows[last], (open.count - last) * sizeof *open.rows);
    open.count -= marked->count;
    marks_end(regions, marked->count);
}

/* ---- events ---- */

static PyObject *not_again(PyObject *code)
{
    superinstructions_restore_soon(code);
    Py_INCREF(monitoring_tool_disable);
    return monitoring_tool_disable;
}

static __attribute__((noinline)) struct mark_code *look(PyObject *code)
{
    struct mark_code *marked = marks_look(code);
    if (!marked->count)
        return marked;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (monitoring_tool_set_local(&tool, code, marked_events) < 0)
        PyErr_Clear();
    PyErr_Restore(type, value, traceback);
    return marked;
}

static PyObject *on_start(PyObject *self, PyObject *const *arguments, size_t count, PyObject *names)
{
    (void)self, (void)count, (void)names;
    PyObject *code = arguments[0];
    struct mark_code *marked = marks_find(code);
    if (!marked)
        marked = look(code);
    if (!marked->count)
        return not_again(code);
    begin(marked, code);
    return Py_None;
}

/* Throwing and unwinding are told of all code and cannot be switched off at a place. */
static PyObject *on_throw(PyObject *self, PyObject *const *arguments, size_t count, PyObject *names)
{
    (void)self, (void)count, (void)names;
    struct mark_code *marked = marks_find(arguments[0]);
    if (marked && marked->count)
        begin(marked, arguments[0]);
    return Py_None;
}

static PyObject *on_end(PyObject *self, PyObject *const *arguments, size_t count, PyObject *names)
{
    (void)self, (void)count, (void)names;
    struct mark_code *marked = open.count ? marks_find(arguments[0]) : NULL;
    if (marked && marked->count)
        end(marked, arguments[0]);
    return Py_None;
}

static const struct monitoring_event events[] = {
    {"PY_START", on_start}, {"PY_RESUME", on_start}, {"PY_RETURN", on_end},
    {"PY_YIELD", on_end},   {"PY_THROW", on_throw},  {"PY_UNWIND", on_end},
};
enum { EVENTS = sizeof events / sizeof *events, OWN_EVENTS = 4 /* the first ones */ };

int mark_events_begin(char *why, size_t why_bytes)
{
    if (pthread_key_create(&at_thread_end, free_rows) != 0 ||
        monitoring_tool_open(&tool, events, EVENTS, why, why_bytes) < 0)
        return -1;
    superinstructions_learn();
    for (size_t i = 0; i < OWN_EVENTS; i++)
        marked_events |= monitoring_tool_event(events[i].name);
    unsigned long of_all = monitoring_tool_event("PY_START") | monitoring_tool_event("PY_THROW") |
                           monitoring_tool_event("PY_UNWIND");
    if (monitoring_tool_set(&tool, of_all) == 0)
        return 0;
    PyErr_Clear();
    snprintf(why, why_bytes, "sys.monitoring refused the events");
    return -1;
}
