/*
 * timers: named timers that a program puts into its own code: sonde.Timer, and the context managers that
 * sonde.timed_region gives.
 *
 * They count whether or not anything records; while something does, what is entered is a region of the recording. Within one thread, and one context of contextvars (so one task of an event
 * loop), a timer that is entered again before it was left counts the call, but its time once: from the first entry to the
 * last exit. Threads and tasks that are in it at the same time add up, as calls do. What is entered may be left in any order,
 * as generators do, and in another thread. SONDE_TIMERS=0 in the environment makes all of it do nothing.
 */
#ifndef SONDE_COLLECT_INSIDE_TIMERS_H
#define SONDE_COLLECT_INSIDE_TIMERS_H

#include "collect/inside/interpreter.h"

/* Adds Timer, timed_region, timers and reset_timers to the module. */
int timers_add(PyObject *module);

#endif
