/*
 * line_peers: line_profiler's own decorator, `from line_profiler import profile`, in a program that sonde runs. Where
 * line_profiler is installed, its decorator is told to hand functions to ours, in the way that it offers to kernprof, when
 * it is used for the first time: so it chooses them, and prints and writes nothing itself. Where it is not, the finder
 * has a stand-in (finder.h). While memory is measured, memory_profiler's decorator is treated alike: the profiler that it
 * makes for each call is ours, and it prints nothing.
 */
#ifndef SONDE_COLLECT_INSIDE_LINE_PEERS_H
#define SONDE_COLLECT_INSIDE_LINE_PEERS_H

#include "collect/inside/interpreter.h"

/* Looks at a function that is about to run for the first time. Never leaves an exception. */
void line_peers_look(PyObject *code);
/* Whether the code is of a module that has such functions; whether there is one, and none of them has run yet. */
bool line_peers_have(PyObject *code);
bool line_peers_are_awaited(void);

#endif
