/*
 * slot_sharing: a profiler of the program's own (cProfile, sys.setprofile) works beside us on 3.9 to 3.11, where
 * both want a thread's one profile slot: we take the slot back and pass each event on to the function that the
 * program had set. sys.setprofile itself comes through here (setprofile.h). When C code sets the slot, CPython
 * raises an audit event; right after it, in the main thread, we take the slot back. In other threads such code keeps
 * it, which is noted. sys.getprofile() shows what the program set, never us.
 */
#ifndef SONDE_COLLECT_INSIDE_SLOT_SHARING_H
#define SONDE_COLLECT_INSIDE_SLOT_SHARING_H

#include "collect/inside/interpreter.h"

/* The slot has become `ours`. In a launched program we share from now on; a program that profiles itself pays for
 * audit events only once it has imported cProfile. */
void slot_sharing_begin(interpreter_profile_function *ours);
/* Looks at the file of a function met for the first time. */
void slot_sharing_notice(const char *file);

/* Does what `real`, of sys.setprofile, does, and keeps the slot. */
PyObject *slot_sharing_set(PyCFunction real, PyObject *self, PyObject *function);

/* Passes an event on to the program's own profile function; `object` is that function's. */
int slot_sharing_pass_on(PyObject *object, PyFrameObject *frame, int what, PyObject *argument);

#endif
