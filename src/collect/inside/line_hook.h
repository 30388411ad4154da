/*
 * line_hook: lines, calls and returns before 3.12: the frame evaluation hook tells of calls; probes in the code of a chosen
 * function (line_probes.h) tell of lines, or, where it can have none, the trace function of the thread, which is switched
 * on only while that code runs.
 *
 * In 3.11 the hook costs all code a part of its speed. Where chosen functions announce their calls themselves
 * (line_entry.h) it is there only while a chosen line runs, to see what that calls: not while a function that the line
 * has called runs. Threads share it.
 */
#ifndef SONDE_COLLECT_INSIDE_LINE_HOOK_H
#define SONDE_COLLECT_INSIDE_LINE_HOOK_H

#include "collect/inside/line_codes.h"

struct arena_line_call;

/* 0, or -1 with words. */
int line_hook_begin(char *why, size_t why_bytes);
void line_hook_end(void);
/* The function has become a chosen one. Called without an exception. */
void line_hook_choose(struct line_code *function);
/* Whether it is between its beginning and its end. */
bool line_hook_has_begun(void);
/* Puts the hook into its place or away, as is needed now. */
void line_hook_settle(void);
/* What there is to look for (line_session_is_looking) has changed. */
void line_hook_review(void);
/* A function that is running has become a chosen one: its lines are timed at once if the frame is the calling thread's
 * innermost, else from its next call on. */
void line_hook_begin_running(PyObject *code, PyObject *frame);

/* 3.11: the code of a chosen function tells that a call of it begins, or goes on in `line` (0 = it begins), or pauses or
 * ends. */
void line_hook_enter(struct line_code *function, uint32_t line);
void line_hook_leave(struct line_code *function);
/* The call that a line of the function is of, when it is not the innermost one: a generator may go on with an exception,
 * untold. NULL when it is not timed. */
struct arena_line_call *line_hook_find(struct line_code *function);
/* From here to the next line_hook_enter the interpreter makes its calls by itself, and tells nobody. */
void line_hook_pause(PyThreadState *state);

#endif
