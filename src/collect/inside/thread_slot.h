/*
 * thread_slot: where a thread state keeps its profile function, in every version: the function, the trace
 * function, and the function's object. Where that lies in a thread state is found by looking for what was just set.
 */
#ifndef SONDE_COLLECT_INSIDE_THREAD_SLOT_H
#define SONDE_COLLECT_INSIDE_THREAD_SLOT_H

#include "collect/inside/interpreter.h"

struct thread_slot {
    interpreter_profile_function *function;
    void *trace_function;
    PyObject *object;
};

/* NULL as long as the place is not known. */
struct thread_slot *thread_slot_of(PyThreadState *state);
/* Looks for the place: `function` is in the slot of `state`. */
void thread_slot_find_function(PyThreadState *state, interpreter_profile_function *function);

/* The same around a call that is about to set `object` in a slot that is empty. */
#define THREAD_SLOT_WORDS 32
struct thread_slot_search {
    void *before[THREAD_SLOT_WORDS];
};
void thread_slot_look_before(struct thread_slot_search *search, PyThreadState *state);
void thread_slot_look_after(const struct thread_slot_search *search, PyThreadState *state, PyObject *object);

#endif
