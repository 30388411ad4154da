/*
 * mark_call: the call of a function that has just begun, as far as the name of its range may ask: the arguments, and for a
 * function of the user's the frame.
 */
#ifndef SONDE_COLLECT_INSIDE_MARK_CALL_H
#define SONDE_COLLECT_INSIDE_MARK_CALL_H

#include "collect/inside/interpreter.h"

struct mark_call {
    PyObject *code;
    void
        *frame; /* what the evaluation hook was given, before 3.12; NULL = the thread's own innermost frame */
};

/* Once per process. 0, or -1 with words. */
int mark_call_init(char *why, size_t why_bytes);
/* New references; NULL, without an exception, when there is none. */
PyObject *mark_call_argument(const struct mark_call *call, PyObject *name);
PyObject *mark_call_first_argument(const struct mark_call *call);
/* The frame object; in 3.11, where a call that begins has none yet, an object with the same attributes. */
PyObject *mark_call_frame(const struct mark_call *call);

#endif
