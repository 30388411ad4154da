/*
 * line_session: times of lines in a launched program: the arena, the functions that were asked for, and the source of
 * events, sys.monitoring from 3.12 on (line_events.h), the evaluation hook before (line_hook.h).
 */
#ifndef SONDE_COLLECT_INSIDE_LINE_SESSION_H
#define SONDE_COLLECT_INSIDE_LINE_SESSION_H

#include "collect/inside/line_codes.h"

struct agent;

/* 0, or -1 with words. */
int line_session_start(const struct agent *agent, char *why, size_t why_bytes);
/* Around a fork: in the thread that forks, just before, and in the child. */
void line_session_before_fork(void);
void line_session_after_fork(void);

/* Looks at a function that is running for the first time: whether it was asked for. NULL when memory ran out. */
struct line_code *line_session_look(PyObject *code);
/* From now on the code's lines are timed. */
void line_session_choose(PyObject *code);
double line_session_ticks_per_ns(void);

#endif
