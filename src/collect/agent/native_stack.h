/*
 * native_stack: the native stack of one thread, by the rows that the recorder has made: of the calling thread as a
 * signal interrupted it, of a thread that sleeps in the kernel, or of one that is held from outside.
 * Async-signal-safe; no call in it is a cancellation point.
 *
 * Of a sleeping thread the kernel tells the stack pointer and the program counter (/proc/PID/task/TID/syscall) to
 * whoever might trace it. Nothing is sent to the thread: it never sees an interrupted call. The other registers are
 * not known: the first frame that needs the frame register rests on a guess (unwind/depth.h). Where the kernel refuses,
 * a sleeping thread has its Python frames alone.
 */
#ifndef SONDE_COLLECT_AGENT_NATIVE_STACK_H
#define SONDE_COLLECT_AGENT_NATIVE_STACK_H

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "collect/agent/native_area.h"
#include "collect/agent/own_stack.h"

/* What the threads of this process walk by. A zeroed one: no native stacks. */
struct native_walker {
    struct native_area *area;
    uint32_t pid; /* whose threads they are; 0 = our own process */
    const struct modules
        *inherited; /* the table of the process that forked us, good until there is an own one */
    struct walk_native_cache cache;
};

void native_stack_init(struct native_walker *walker, struct native_area *area);
/* In the child of a fork, with its own new area. */
void native_stack_after_fork(struct native_walker *walker, struct native_area *area, uint64_t parent_pid);
/* Whether there is a table to walk by. */
bool native_stack_ready(const struct native_walker *walker);

/* Walk and pack; false where there is no stack to be had. The slot's `packed` then holds head->bytes bytes. */
bool native_stack_of_context(struct native_walker *walker, struct native_slot *slot, struct own_stack *stack,
                             const ucontext_t *context, struct native_head *head);
/* Of a thread that stands still and whose registers are known. */
bool native_stack_of_registers(struct native_walker *walker, struct native_slot *slot,
                               const struct walk_native_registers *registers, struct native_head *head);
bool native_stack_of_sleeper(struct native_walker *walker, struct native_slot *slot, uint32_t pid,
                             uint32_t tid, struct native_head *head);
/* The calling thread's own, from registers that it has just read; where the table is missing, it is empty. */
void native_stack_walk(struct native_walker *walker, struct own_stack *own,
                       const struct walk_native_registers *registers, struct walk_native_stack *stack);
/* What was packed last is in the ring, and the next stack is told as a difference from it; or it is not. */
void native_stack_keep(struct native_slot *slot, const struct native_head *head);
void native_stack_drop(struct native_walker *walker, const struct native_head *head);

/* Libraries were loaded or unloaded: asks the recorder to look at the process's code anew. */
void native_stack_ask(struct native_walker *walker);

#endif
