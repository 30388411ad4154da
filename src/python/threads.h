/*
 * threads: the interpreters of a process and their threads, read from outside.
 *
 * The lists change while the program runs: every read may fail, every list is bounded, and a row may be of a
 * thread that has just ended. Nothing is allocated.
 */
#ifndef SONDE_PYTHON_THREADS_H
#define SONDE_PYTHON_THREADS_H

#include "python/layouts.h"

#include <sys/types.h>

struct threads_row {
    uint64_t state; /* address of its PyThreadState */
    uint64_t interpreter;
    int64_t interpreter_id;
    uint64_t thread_id; /* as pthread_self says */
    uint64_t native_id; /* as gettid says; 0 up to 3.10, which does not keep it */
    bool holds_gil;     /* its interpreter's */
};

/* Fills in up to `capacity` rows, the newest thread of the newest interpreter first; gives how many there are, or
 * -1 where the lists cannot be read. `runtime` is the address of _PyRuntime. */
ssize_t threads_list(const struct layout *layout, const struct memory *memory, uint64_t runtime,
                     struct threads_row *rows, size_t capacity);

#endif
