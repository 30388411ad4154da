/*
 * profile_slot: calls and returns from the profile function of each thread (3.9 to 3.11). Threads that run
 * already get it at once; new ones when they start (thread_start.h).
 *
 * There is one slot in each thread; slot_sharing.h says how a profiler of the program's own gets its share.
 */
#ifndef SONDE_COLLECT_INSIDE_PROFILE_SLOT_H
#define SONDE_COLLECT_INSIDE_PROFILE_SLOT_H

#include "collect/inside/interpreter.h"

/* 0, or -1 with words. */
int profile_slot_set(bool active, bool c_calls, char *why, size_t why_bytes);

bool profile_slot_is_active(void);
/* Whether this is our function. */
bool profile_slot_is_ours(interpreter_profile_function *function);
/* Whether the slot is being set by us, not by the program. */
bool profile_slot_is_setting(void);
/* Sets the calling thread's slot again. `object`: that of the program's own function, to which events are passed
 * on; NULL = the program has none. */
void profile_slot_take(PyObject *object);

#endif
