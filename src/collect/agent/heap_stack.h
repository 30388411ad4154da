/*
 * heap_stack: the Python stack of the calling thread, as a node of a tree of stacks (heap_tree.h), at the price of a few
 * loads.
 *
 * A thread allocates again and again at stacks that differ little. So the last walk is kept: for each frame its address,
 * its instruction and its node, outermost first. The frames of that list are looked at from the innermost on; as long as
 * each names the next one of the list as its caller, and is where it was, the stack is that stack. The addresses come from
 * the list, so that the loads need not wait for each other, and no frame is looked at before one that lives has named it.
 * Where something differs, only the frames from there on inwards are looked up in the tree.
 *
 * Up to 3.10 frames lie scattered over the heap, and a deep stack would cost two cache lines for each. There a frame is
 * marked when it has been looked at, in a byte that every call sets anew: one that bears the mark and is in the list is
 * the call that it was, and so all its callers wait where they waited. A generator's frame outlives its calls, and its mark
 * says nothing.
 *
 * A thread that calls an allocator stands still, and its frames are linked: a frame that is being made is linked when it is
 * whole, and one that is being cleared was unlinked before.
 */
#ifndef SONDE_COLLECT_AGENT_HEAP_STACK_H
#define SONDE_COLLECT_AGENT_HEAP_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/agent/heap_tree.h"

struct stack_reader;

enum {
    HEAP_STACK_DEPTH = 4096, /* frames that are followed */
    HEAP_STACK_SHOWN = 128,  /* of a stack that is deeper still: the innermost ones that are shown */
    HEAP_STACK_PLACES = 1024,
};

struct heap_stack_frame {
    uint64_t frame, instruction;
    uint64_t code;
    bool is_foreign; /* no Python function's: it marks where C code called the next one */
    uint32_t row;    /* of the code */
    uint32_t node;
};

/* Of one thread. A zeroed one is valid and empty. */
struct heap_stack {
    uint32_t depth;
    uint32_t changes;
    uint16_t places[HEAP_STACK_PLACES];               /* by a hash of the frame: where it was in the list */
    struct heap_stack_frame frames[HEAP_STACK_DEPTH]; /* outermost first */
    struct heap_stack_frame walked[HEAP_STACK_DEPTH]; /* innermost first */
};

/* How the interpreter of this process is read: where its frames have what is needed. */
struct heap_stack_reader {
    const struct stack_reader *interpreter; /* NULL = there is no Python yet, or no more */
    struct heap_tree *tree;
    uint32_t thread_frame, cframe_frame; /* the latter only with `cframes` */
    uint32_t previous, instruction, code, owner;
    uint64_t code_mask;
    uint32_t code_instructions; /* distance of the first instruction; 0 = offsets are in the frame */
    int32_t scale;              /* of those: bytes for each */
    bool cframes;
    uint8_t first_foreign_owner; /* from this on a frame is no Python function's */
    uint32_t entry;              /* 3.11: of the byte that says that C called it; 0 = none */
    bool always_from_c;          /* up to 3.10 */
    uint32_t mark, generator;    /* up to 3.10: of f_trace_lines and f_gen; 0 = frames are no objects */
    bool is_shared;              /* others mark frames, too: no mark is believed or made */
};

void heap_stack_reader_init(struct heap_stack_reader *reader, const struct stack_reader *interpreter,
                            struct heap_tree *tree);

/* The node of the calling thread's stack below `root`; `root` itself where no Python runs. */
uint32_t heap_stack_node(struct heap_stack *stack, const struct heap_stack_reader *reader, uint32_t root);

#endif
