/*
 * thread_start: a function of ours runs first in every thread that Python starts (needed before 3.12, where the
 * profile slot is each thread's own). _thread.start_new_thread is replaced by a function of the same name.
 */
#ifndef SONDE_COLLECT_INSIDE_THREAD_START_H
#define SONDE_COLLECT_INSIDE_THREAD_START_H

/* Once per process. 0, or -1 without an exception. */
int thread_start_call(void (*function)(void));

#endif
