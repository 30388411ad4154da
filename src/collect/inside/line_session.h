/*
 * line_session: times of lines in this process: the arena, the functions that were asked for, and the source of events,
 * sys.monitoring from 3.12 on (line_events.h), the evaluation hook before (line_hook.h).
 *
 * There is one session. A launched program's lasts, and its arena is the recorder's. Profilers of the program itself
 * (line_session_type.h) share it, or else one of their own, in private memory, while at least one needs it.
 */
#ifndef SONDE_COLLECT_INSIDE_LINE_SESSION_H
#define SONDE_COLLECT_INSIDE_LINE_SESSION_H

#include "collect/inside/line_codes.h"
#include "collect/inside/line_memory.h"

struct agent;

/* 0, or -1 with words. */
int line_session_start(const struct agent *agent, char *why, size_t why_bytes);
/* In a launched program: from now on nothing is counted, at no cost; or it is again. */
void line_session_rest(bool rests);
/* One more profiler needs the session: 0, or -1 with words. One less: what is not needed any more is switched off. */
int line_session_share(char *why, size_t why_bytes);
void line_session_unshare(void);
/* What counts allocations in this process, if anything does. */
struct line_memory_heap line_session_heap(void);
/* Where lines are counted; NULL = nothing was so far. */
struct arena *line_session_arena(void);
/* In the child of a fork that no agent has told of. */
void line_session_forked(void);
/* Around a fork: in the thread that forks, just before, and in the child. */
void line_session_before_fork(void);
void line_session_after_fork(void);

/* Looks at a function that runs for the first time, with these globals: whether it was asked for. NULL when memory ran
 * out. */
struct line_code *line_session_look(PyObject *code, PyObject *globals);
/* Whether functions that were asked for may be found yet. */
bool line_session_is_looking(void);
/* From now on the code's lines are timed. */
void line_session_choose(PyObject *code);
/* The same of code that is running already, in this frame. */
void line_session_choose_running(PyObject *code, PyObject *frame);
/* Looks at all functions once more, when they are called next. */
void line_session_look_again(void);
double line_session_ticks_per_ns(void);
/* Says in the recording what could not be done; the first word counts. */
void line_session_note(const char *text);

#endif
