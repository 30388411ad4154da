/*
 * thread_states: which PyThreadState belongs to which thread of another process.
 *
 * The interpreter numbers its threads as the process itself sees them, which in a container is not how we see them.
 * The lists change while the program runs: what is found is a good guess, and checked again before each use.
 */
#ifndef SONDE_COLLECT_OUTSIDE_THREAD_STATES_H
#define SONDE_COLLECT_OUTSIDE_THREAD_STATES_H

#include "collect/outside/target_python.h"
#include "python/threads.h"

enum { THREAD_STATES_MAX = 4096 };

struct thread_states_row {
    uint64_t state;
    uint32_t tid; /* the process's own number */
};

struct thread_states {
    const struct target_python *python;
    struct memory memory;
    uint32_t pid;
    uint32_t tid_offset; /* as target_python_tid_offset says; 3.9 and 3.10 only */
    size_t count;
    uint64_t listed_at; /* tick, plus one */
    struct thread_states_row rows[THREAD_STATES_MAX];
    struct threads_row found[THREAD_STATES_MAX];
};

void thread_states_init(struct thread_states *states, const struct target_python *python, uint32_t pid);
/* The state of a thread; 0 = it has none. `tick` rises: the lists are read at most once for each. */
uint64_t thread_states_find(struct thread_states *states, uint32_t tid, bool is_main, uint64_t tick);
/* Whether it still is that thread's. */
bool thread_states_is_of(const struct thread_states *states, uint64_t state, uint32_t tid);

/* The number that a thread has in its own namespace. */
uint32_t thread_states_own_tid(uint32_t pid, uint32_t tid);
/* Whether the process is there and has not ended. */
bool thread_states_is_running(uint32_t pid);

#endif
