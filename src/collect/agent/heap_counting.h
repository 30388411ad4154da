/*
 * heap_counting: the counting of allocations in this process as a whole: the area that is counted into and how, its
 * beginning and its end, and what a fork leaves to the child. One for each process; what happens at an allocation is
 * heap_tracker's.
 */
#ifndef SONDE_COLLECT_AGENT_HEAP_COUNTING_H
#define SONDE_COLLECT_AGENT_HEAP_COUNTING_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/agent/heap.h"
#include "collect/agent/heap_stack.h"
#include "collect/agent/heap_tree.h"
#include "collect/agent/native_stack.h"

struct stack_reader;

struct heap_counting {
    struct heap_area *area; /* NULL = nothing is counted */
    struct heap_settings settings;
    struct heap_tree tree;
    struct heap_stack_reader reader;
    struct stack_reader *interpreter;
    struct native_walker walker; /* without an area: no native stacks */
    uint32_t generation;         /* one more whenever counting begins anew */
    uint8_t shift;
    bool never;
    bool resting;                    /* what is allocated meanwhile does not count */
    struct heap_area *(*open)(void); /* not NULL: there is no area yet */
    uint32_t opening;
    uint64_t inherited_pid; /* of the process that forked this one; 0 = none */
};
extern struct heap_counting heap_counting;

/* See heap.h. `shift`: addresses of blocks differ by at least 1 << shift bytes. */
int heap_counting_start(struct heap_area *area, const struct heap_settings *settings, uint8_t shift);
void heap_counting_stop(void);
struct heap_area *heap_counting_area(void);
int64_t heap_counting_live_bytes(void);
/* Stacks have Python frames from now on; NULL: no more. */
void heap_counting_read_python(struct stack_reader *interpreter);
/* Waits a little until the recorder has read this process's code, if native stacks are wanted. */
void heap_counting_await_native(void);
/* The program has ended: remembers what is alive. */
void heap_counting_program_ends(void);

/* See heap.h. */
void heap_counting_rest(bool resting);
/* Nothing will ever be counted in this process. */
void heap_counting_never(void);
/* In the child of a fork. What was allocated before is not the child's; `open` is called at its first allocation to give it
 * an area of its own. NULL: it is not counted. */
void heap_counting_after_fork(struct heap_area *(*open)(void));
/* At that first allocation. False when there is no area, or another thread is getting it. */
bool heap_counting_open(void);

#endif
