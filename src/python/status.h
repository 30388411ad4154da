/*
 * status: what a thread is about beside its stack: whether it holds the GIL, whether the garbage collector runs in it.
 *
 * The collector runs with the GIL held, so it is in the holder's thread; only a finaliser that lets go of the GIL can
 * make it look as if another thread collected. Loads are few and nothing allocates: fit for a signal handler, where
 * the thread's own state and interpreter are alive.
 */
#ifndef SONDE_PYTHON_STATUS_H
#define SONDE_PYTHON_STATUS_H

#include "python/layouts.h"

struct status {
    bool holds_gil;
    bool collecting;
    uint64_t collecting_frame; /* in which the collection began, from 3.15 on; 0 = not known */
};

/* The PyThreadState that holds the interpreter's lock; 0 = none. False where it cannot be read. */
bool status_gil_holder(const struct layout *layout, const struct memory *memory, uint64_t runtime,
                       uint64_t interpreter, uint64_t *holder);
/* Of the thread with this PyThreadState. */
bool status_read(const struct layout *layout, const struct memory *memory, uint64_t runtime, uint64_t state,
                 struct status *status);

#endif
