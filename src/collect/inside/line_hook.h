/*
 * line_hook: lines, calls and returns before 3.12: the frame evaluation hook tells of calls; probes in the code of a chosen
 * function (line_probes.h) tell of lines, or, where it can have none, the trace function of the thread, which is switched
 * on only while that code runs.
 */
#ifndef SONDE_COLLECT_INSIDE_LINE_HOOK_H
#define SONDE_COLLECT_INSIDE_LINE_HOOK_H

#include "collect/inside/interpreter.h"

/* 0, or -1 with words. */
int line_hook_begin(char *why, size_t why_bytes);
void line_hook_end(void);
/* A function that is running has become a chosen one: its lines are timed at once if the frame is the calling thread's
 * innermost, else from its next call on. */
void line_hook_begin_running(PyObject *code, PyObject *frame);

#endif
