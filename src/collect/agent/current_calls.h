/*
 * current_calls: which function of a library that is followed each thread is in just now, so that samples can show it as their
 * innermost frame: Python's own frames end where such a library is entered. Lives in the agent; those who follow a library
 * write it, the sampler reads it.
 *
 * A row belongs to one thread from current_calls_take to current_calls_leave. Nothing waits: a thread that finds no row is
 * sampled without the frame. Zeroed memory is an empty table. Async-signal-safe.
 */
#ifndef SONDE_COLLECT_AGENT_CURRENT_CALLS_H
#define SONDE_COLLECT_AGENT_CURRENT_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CURRENT_CALLS_THREADS = 64 };

struct current_call {
    uint64_t tid;     /* 0 = free */
    const char *name; /* of the function, for ever; NULL = the thread is in none */
};

struct current_calls {
    uint32_t count; /* rows that were ever taken: those behind are free */
    struct current_call rows[CURRENT_CALLS_THREADS];
};

/* NULL when there are too many threads. */
static inline struct current_call *current_calls_take(struct current_calls *calls, uint64_t tid)
{
    for (uint32_t i = 0; i < CURRENT_CALLS_THREADS; i++) {
        uint64_t unused = 0;
        if (!__atomic_compare_exchange_n(&calls->rows[i].tid, &unused, tid, false, __ATOMIC_ACQ_REL,
                                         __ATOMIC_RELAXED))
            continue;
        uint32_t count = __atomic_load_n(&calls->count, __ATOMIC_RELAXED);
        while (count <= i && !__atomic_compare_exchange_n(&calls->count, &count, i + 1, false,
                                                          __ATOMIC_RELEASE, __ATOMIC_RELAXED))
            ;
        return &calls->rows[i];
    }
    return NULL;
}

static inline void current_calls_leave(struct current_call *row)
{
    __atomic_store_n(&row->name, NULL, __ATOMIC_RELAXED);
    __atomic_store_n(&row->tid, 0, __ATOMIC_RELEASE);
}

/* `row` may be NULL. */
static inline void current_calls_set(struct current_call *row, const char *name)
{
    if (row)
        __atomic_store_n(&row->name, name, __ATOMIC_RELAXED);
}

/* NULL = in none. */
static inline const char *current_calls_find(const struct current_calls *calls, uint64_t tid)
{
    uint32_t count = __atomic_load_n(&calls->count, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < count; i++)
        if (__atomic_load_n(&calls->rows[i].tid, __ATOMIC_RELAXED) == tid)
            return __atomic_load_n(&calls->rows[i].name, __ATOMIC_RELAXED);
    return NULL;
}

#endif
