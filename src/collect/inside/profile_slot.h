/*
 * profile_slot: calls and returns from the profile function of each thread (3.9 to 3.11). Threads that run
 * already get it at once; new ones when they start, because _thread.start_new_thread is replaced by a function
 * of the same name that sets the slot in the new thread before anything of the program runs there.
 *
 * There is one slot in each thread. cProfile gets its share of it (slot_sharing.h). Another profiler that sets it
 * takes it from us; one that saves what was there and puts it back gives it back. Who holds it at the end, if not
 * we, is noted.
 */
#ifndef SONDE_COLLECT_INSIDE_PROFILE_SLOT_H
#define SONDE_COLLECT_INSIDE_PROFILE_SLOT_H

#include "collect/inside/interpreter.h"

/* 0, or -1 with words. */
int profile_slot_set(bool active, char *why, size_t why_bytes);

bool profile_slot_is_active(void);
/* Whether these are our function and object. */
bool profile_slot_is_ours(interpreter_profile_function *function, PyObject *object);
/* Whether the slot is being set by us, not by the program. */
bool profile_slot_is_setting(void);
/* Sets the calling thread's slot again; `shared`: events are passed on to the program's own function. */
void profile_slot_take(bool shared);

#endif
