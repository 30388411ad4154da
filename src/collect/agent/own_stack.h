/*
 * own_stack: where the stack of a thread lies, as the thread itself finds it out in a signal handler.
 *
 * The C library keeps its record of a thread at the upper end of that thread's stack: up to there it is mapped as long
 * as the thread lives, and may be loaded from directly. A stack of somebody else's making (coroutines, signal stacks)
 * may go at any time. The kernel's list of mappings is read once for each stack; async-signal-safe.
 */
#ifndef SONDE_COLLECT_AGENT_OWN_STACK_H
#define SONDE_COLLECT_AGENT_OWN_STACK_H

#include <stdbool.h>
#include <stdint.h>

/* A zeroed one has not been looked for. */
struct own_stack {
    uint64_t low, high;                 /* of the thread's own */
    uint64_t foreign_low, foreign_high; /* of another that it was met on */
};

/* Whether the calling thread, which was interrupted with this stack pointer, stands on its own stack. */
bool own_stack_holds(struct own_stack *stack, uint64_t stack_pointer);

#endif
