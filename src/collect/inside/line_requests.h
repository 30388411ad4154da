/*
 * line_requests: functions that the recorder asks for while the program runs, because samples have shown that they take
 * its time. A signal handler of the sampler's sees that there are new ones; the interpreter then takes them up between two
 * instructions of the main thread. Code that is running is found in the frames of all threads, other code when it is
 * called next.
 */
#ifndef SONDE_COLLECT_INSIDE_LINE_REQUESTS_H
#define SONDE_COLLECT_INSIDE_LINE_REQUESTS_H

#include "collect/inside/interpreter.h"

struct agent;
struct arena;

/* From now on they are taken from this arena; NULL = from none. */
void line_requests_begin(const struct agent *agent, const struct arena *arena);
/* Whether the code is of a function that was asked for. Called without an exception, and leaves none. */
bool line_requests_match(PyObject *code);
/* Whether some have not been found yet. */
bool line_requests_are_open(void);

#endif
