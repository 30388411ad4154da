/*
 * heap: the library that counts allocations (libsonde_heap.so), as others reach it: through the struct `sonde_heap`, found
 * by dlsym(RTLD_DEFAULT, HEAP_SYMBOL) where `sonde mem` has preloaded the library, and by dlopen and dlsym elsewhere. Loaded
 * by dlopen it stands before nobody's functions: whoever loads it makes calls go to `wrappers`.
 *
 * Libc alone. Nothing here allocates from the heap, and every function may be called from any thread.
 */
#ifndef SONDE_COLLECT_AGENT_HEAP_H
#define SONDE_COLLECT_AGENT_HEAP_H

#include <stdbool.h>
#include <stdint.h>

struct heap_area;

#define HEAP_VERSION 2u
#define HEAP_SYMBOL  "sonde_heap"

struct heap_settings {
    uint64_t sample_bytes; /* mean distance of sampled bytes; 0 = every block is counted */
    bool stacks;           /* false: totals alone, which is what live_bytes needs */
    bool log;              /* every event goes through the rings of the area, too */
    bool
        python_allocators; /* blocks of Python's own allocators are counted, and not what these are made of */
};

/* A function that stands before another of that name. */
struct heap_wrapper {
    const char *name;
    void *function;
    void **next; /* where it has the other one's address; NULL = it calls another wrapper */
};

struct heap {
    uint32_t version;
    /* Counts into an area (heap_area.h) that stays the caller's and must stay mapped until `stop` has returned. -1 when
     * something is being counted already. To be called with the interpreter lock held when `stacks` is set. */
    int (*start)(struct heap_area *area, const struct heap_settings *settings);
    /* What is being counted into; NULL = nothing is. */
    struct heap_area *(*area)(void);
    /* What the calling thread allocates from now on is sonde's own and does not count; and counts again. May be nested. */
    void (*pass_over)(bool own);
    /* Returns when no thread is counting any more. Blocks that are freed later are nobody's. */
    void (*stop)(void);
    /* Bytes that are allocated now, by all threads: exact unless sampled. Cheap. */
    int64_t (*live_bytes)(void);
    /* Bytes that the calling thread has allocated less those that it has freed, whoever allocated them: a word that
     * stays where it is until the thread ends, so that looking at it costs one load. Never NULL. */
    const int64_t *(*thread_growth)(void);
    /* Python is about to run the program: from now on stacks have frames. With the interpreter lock held. NULL, or why
     * this interpreter cannot be read. */
    const char *(*python_runs)(void);
    const struct heap_wrapper *wrappers; /* ends with a name of NULL */
    /* From now on blocks that are allocated do not count; or they do again. Frees of those that did always do. */
    void (*rest)(bool resting);
};

#endif
