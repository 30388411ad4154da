/*
 * slot_sharing: a cProfile in the program works beside us on 3.9 to 3.11, where both want the main thread's one
 * profile slot. Once cProfile is imported, every setting of the slot is noticed (CPython raises an audit event);
 * right after it we take the slot back and pass each event on to the function that the program had set.
 */
#ifndef SONDE_COLLECT_INSIDE_SLOT_SHARING_H
#define SONDE_COLLECT_INSIDE_SLOT_SHARING_H

#include "collect/inside/interpreter.h"

/* The slot has become ours; cProfile may have been imported long ago. */
void slot_sharing_begin(void);
/* Looks at the file of a function met for the first time. */
void slot_sharing_notice(const char *file);

/* Passes an event on to the program's own profile function. */
int slot_sharing_pass_on(PyFrameObject *frame, int what, PyObject *argument);

#endif
