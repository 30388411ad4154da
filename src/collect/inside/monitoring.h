/*
 * monitoring: calls and returns from sys.monitoring (3.12 and later), through a tool id of our own, so that
 * cProfile, coverage and debuggers keep theirs. The callbacks are objects of a type with a vectorcall slot:
 * cheaper than built-in functions.
 */
#ifndef SONDE_COLLECT_INSIDE_MONITORING_H
#define SONDE_COLLECT_INSIDE_MONITORING_H

#include <stdbool.h>
#include <stddef.h>

/* 0, or -1 with words: who holds the tool ids. */
int monitoring_set(bool active, bool c_calls, char *why, size_t why_bytes);
/* Whether calls of C functions are among the events. */
bool monitoring_has_c_calls(void);

#endif
