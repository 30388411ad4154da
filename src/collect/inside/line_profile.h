/*
 * line_profile: the name `profile` among the built-in ones, while sonde runs the program: @profile and what else a
 * program may have written for kernprof or memory_profiler. Whatever is decorated comes back as it is; the code under its wrappers is
 * timed from then on.
 */
#ifndef SONDE_COLLECT_INSIDE_LINE_PROFILE_H
#define SONDE_COLLECT_INSIDE_LINE_PROFILE_H

#include "collect/inside/interpreter.h"

/* As line_profiler's, or memory_profiler's. 0, or -1 without an exception. */
int line_profile_install(bool of_memory);
/* Whether the program has named any. */
bool line_profile_was_used(void);

#endif
