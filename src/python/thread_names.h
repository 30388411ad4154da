/*
 * thread_names: what the program calls its threads: threading.Thread.name, found through sys.modules.
 *
 * The memory may change while it is read: every read may fail, which gives no name. Nothing is allocated.
 */
#ifndef SONDE_PYTHON_THREAD_NAMES_H
#define SONDE_PYTHON_THREAD_NAMES_H

#include <sys/types.h>

#include "python/layouts.h"

/* Where an interpreter keeps its threads: found once, then good for its life. A zeroed one has not been looked for. */
struct thread_names {
    uint64_t interpreter;
    uint64_t active; /* threading._active; 0 = threading has not been imported */
    uint64_t
        next; /* place in it behind the thread that was read last: they are mostly asked for in its order */
};

/* Looks for the threads of the interpreter to which the PyThreadState belongs, unless they are known. */
bool thread_names_find(struct thread_names *names, const struct layout *layout, const struct memory *memory,
                       uint64_t state);
/* The name of the thread with this PyThreadState, as UTF-8 without an end; its size, or -1 when it has none. */
ssize_t thread_names_read(struct thread_names *names, const struct layout *layout,
                          const struct memory *memory, uint64_t state, char *out, size_t capacity);

#endif
