/*
 * heap_native: the native stack of the calling thread, as a node of a tree of stacks (heap_tree.h).
 *
 * It is walked by the rows that the recorder makes (native_area.h). As with Python's frames the last walk is kept, with the
 * places on the stack where its return addresses lie: while these are what they were, and the walk would begin at the same
 * place, the stack is that stack. A function that is at the same instruction with the same stack pointer has its return
 * address where it had it before.
 *
 * Code that the recorder does not know yet, of a library just loaded, is waited for a little.
 */
#ifndef SONDE_COLLECT_AGENT_HEAP_NATIVE_H
#define SONDE_COLLECT_AGENT_HEAP_NATIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/agent/heap_tree.h"
#include "collect/agent/native_stack.h"

enum { HEAP_NATIVE_DEPTH = 1024 };

struct heap_native_frame {
    uint64_t place;   /* where its return address lies */
    uint64_t address; /* that return address: the code that it returns to */
    uint32_t node;    /* of the frames from the root to the one that it returns to */
};

/* Of one thread. A zeroed one is valid and empty. */
struct heap_native {
    uint64_t start; /* where the walk began */
    bool is_sure;   /* the places tell whether the stack is the same */
    uint32_t depth, node;
    struct own_stack stack;
    struct heap_native_frame frames[HEAP_NATIVE_DEPTH]; /* outermost first */
    struct walk_native_frame walked[HEAP_NATIVE_DEPTH];
};

/* Where this library lies: its own frames are not shown. To be called once. */
void heap_native_init(void);

/* The node below `root` of the calling thread's native stack, without the frames of this library. `root` itself where none
 * can be had. */
uint32_t heap_native_node(struct heap_native *native, struct native_walker *walker, struct heap_tree *tree,
                          uint32_t root);

#endif
