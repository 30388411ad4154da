/*
 * partial: which part of a launched program is recorded. All of it, unless the recorder has asked for less: with
 * --partial only where the program has enabled a sonde.Profiler, with --start-at and --stop-at only between these: from a
 * mark on or the begin of a region, to a mark or the end of a region, whether Python says so or C.
 *
 * Profilers are counted, for the whole process: whichever thread enables one, all threads are recorded until as many
 * were disabled. The child of a fork goes on as its parent was. Under the interpreter lock; what a thread says without it
 * is taken up by the main thread, at its next opportunity.
 */
#ifndef SONDE_COLLECT_INSIDE_PARTIAL_H
#define SONDE_COLLECT_INSIDE_PARTIAL_H

#include "collect/inside/interpreter.h"

struct agent;
struct trace;

/* All collectors have begun, `trace` among them or NULL; those that are to wait rest from now on. */
void partial_start(const struct agent *agent, struct trace *trace);
/* Adds profiler_on and profiler_off to the extension. They are neither functions nor methods, so that no event tells of
 * their calls and none is recorded. 0, or -1 with an exception. */
int partial_add(PyObject *module);

#endif
