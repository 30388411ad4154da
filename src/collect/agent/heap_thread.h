/*
 * heap_thread: what a thread that allocates knows of itself: its row in the heap area, the last stack that it was at, and
 * what it last counted. Made at the thread's first allocation that counts, and its own alone; it ends with the thread, or
 * when the counting begins anew.
 */
#ifndef SONDE_COLLECT_AGENT_HEAP_THREAD_H
#define SONDE_COLLECT_AGENT_HEAP_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/agent/heap_counting.h"
#include "collect/agent/heap_native.h"
#include "collect/agent/heap_stack.h"
#include "collect/agent/heap_tracker.h"
#include "python/thread_names.h"

enum { HEAP_THREAD_NAME_TRIES = 32 }; /* new stacks of a thread, at which its name is asked for */

struct heap_thread {
    struct heap_thread_row *row;
    int *error; /* where its errno lies */
    uint32_t number, root;
    uint32_t generation;              /* of the counting, when this was made */
    uint32_t rounds;                  /* that its end was told */
    uint64_t last_block;              /* that it allocated, if that counted */
    int64_t last_countdown;           /* as it was then: nothing was allocated since if it still is */
    uint32_t node, allocator, record; /* the last ones */
    uint64_t random;
    uint32_t python, native_node, pair; /* the last pair of paths */
    uint32_t name_tries;
    struct thread_names names;
    struct heap_stack stack;
    struct heap_native native;
};

extern HEAP_TRACKER_TLS struct heap_thread *heap_thread_current; /* NULL, or maybe of an earlier counting */

/* The calling thread; NULL when it has not counted anything yet. */
static inline struct heap_thread *heap_thread_own(void)
{
    struct heap_thread *thread = heap_thread_current;
    bool valid = thread && thread->generation == heap_counting.generation && heap_counting.area;
    return __builtin_expect(valid, 1) ? thread : NULL;
}

/* Has the end of threads told. False when that cannot be. */
bool heap_thread_prepare(void);
/* Makes the calling thread one that counts. NULL when it cannot be: nothing is counted, or the thread is in here already,
 * or at its end. */
struct heap_thread *heap_thread_enter(void);
/* Looks whether the program has named the thread by now: it does so when the thread has begun already. */
void heap_thread_ask_name(struct heap_thread *thread);
/* Bytes until the next sample, at random. */
int64_t heap_thread_draw_countdown(struct heap_thread *thread);

#endif
