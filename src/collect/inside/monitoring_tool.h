/*
 * monitoring_tool: one tool id of sys.monitoring (3.12 and later) with callbacks in C. The callbacks are objects of a
 * type with a vectorcall slot: cheaper than built-in functions. Each consumer has an id of its own, so that what one
 * disables or leaves out does not concern the others, nor cProfile, coverage and debuggers.
 */
#ifndef SONDE_COLLECT_INSIDE_MONITORING_TOOL_H
#define SONDE_COLLECT_INSIDE_MONITORING_TOOL_H

#include "collect/inside/interpreter.h"

/* arguments[0] is the code object, and so on as sys.monitoring documents for the event. */
typedef PyObject *monitoring_callback(PyObject *self, PyObject *const *arguments, size_t count,
                                      PyObject *names);

struct monitoring_event {
    const char *name; /* in sys.monitoring.events */
    monitoring_callback *function;
};

struct monitoring_tool {
    bool is_open;
    long id;
    long wish; /* the id that is tried first: of an event that with the highest is told first */
};

/* Valid once a tool is open. The answer "do not tell of this place again" needs a new reference. */
extern PyObject *monitoring_tool_disable;
extern PyObject *monitoring_tool_missing; /* an argument that is not there */

/* Takes an id and registers the callbacks; again: nothing. 0, or -1 with words: who holds the ids. */
int monitoring_tool_open(struct monitoring_tool *tool, const struct monitoring_event *events, size_t count,
                         char *why, size_t why_bytes);
/* The bit of an event, 0 when this version has none of that name. */
unsigned long monitoring_tool_event(const char *name);
/* Which events are to be told: of all code, and besides of one code object. 0, or -1 with an exception. */
int monitoring_tool_set(const struct monitoring_tool *tool, unsigned long events);
int monitoring_tool_set_local(const struct monitoring_tool *tool, PyObject *code, unsigned long events);
/* Tells again of all places that were disabled, for every tool. */
void monitoring_tool_restart(void);

#endif
