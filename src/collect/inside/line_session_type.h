/*
 * line_session_type: sonde._inside.LineSession, what sonde.LineProfiler is made of: a set of functions, and what their
 * lines counted while the session was enabled, or, for functions added as `always`, ever since. Several may be enabled
 * at once, also in a program that sonde itself runs: all read the same counters, and each remembers where they stood
 * when it was enabled.
 *
 * While a call of a function that is always timed goes on, the session counts as enabled: what line_profiler's wrappers
 * do, without a wrapper.
 */
#ifndef SONDE_COLLECT_INSIDE_LINE_SESSION_TYPE_H
#define SONDE_COLLECT_INSIDE_LINE_SESSION_TYPE_H

#include "collect/inside/interpreter.h"

/* Puts the type into the module; 0 or -1 with an exception. */
int line_session_type_add(PyObject *module);

#endif
