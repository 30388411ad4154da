/*
 * line_events: lines, calls and returns from sys.monitoring (3.12 and later), through a tool id of our own.
 *
 * Chosen functions have events of their own, so that all others run at full speed. Of those, only the functions that a
 * chosen line has called are told of, too. To find both, every function is looked at once, when it is called for the
 * first time; then its events are disabled at that place. A function that was looked at elsewhere, and is called by a
 * chosen line only later, is found because all are looked at again from time to time: less and less often while nothing
 * new is found, and so seldom that it costs next to nothing.
 */
#ifndef SONDE_COLLECT_INSIDE_LINE_EVENTS_H
#define SONDE_COLLECT_INSIDE_LINE_EVENTS_H

#include "collect/inside/interpreter.h"

/* 0, or -1 with words. */
int line_events_begin(char *why, size_t why_bytes);
/* No event is told any more; line_events_begin may follow. */
void line_events_end(void);
/* The code's function has become a chosen one. */
void line_events_choose(PyObject *code);
/* Looks at all functions once more, when they are called next. */
void line_events_look_again(void);

#endif
