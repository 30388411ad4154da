/*
 * tree: the calling-context tree of a chosen part of a recording, with inclusive times, or amounts of memory.
 *
 * Nodes are in top-down order (a parent before its children), node 0 is the root; children of a node are
 * linked, hottest first. It is made of the calls, exactly counted, or in a recording that has none of the samples,
 * whose weights are the times; or of what was allocated (analyse/weights.h). For a recording that holds only a flat profile (.prof) the tree is estimated from
 * caller pairs by splitting a callee's time in proportion, and `estimated` is set.
 * Nothing here recurses: a tree may be as deep as it has nodes.
 */
#ifndef SONDE_ANALYSE_TREE_H
#define SONDE_ANALYSE_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/measure.h"

struct err;
struct recording;
struct sample_row;

/* Which part of a recording, and how it is seen. A zeroed struct takes all processes and threads, and of samples
 * those of threads that ran. */
struct selection {
    uint32_t process, thread; /* ids of the recording; 0 = all */
    bool idle;                /* samples of idle threads, too */
    bool gil;                 /* only samples of threads that held the GIL */
    bool lines;               /* a function's lines are nodes of their own, where they are known */
    uint64_t begin_ns,
        end_ns; /* only samples, allocations and single calls of this time, up to end_ns; 0 = no limit. Sums have no times */
    enum measure measure; /* what self and total are */
};

struct tree_node {
    uint32_t code;
    uint32_t line; /* 0 unless the selection asks for lines */
    uint32_t parent;
    uint32_t first_child, next_sibling; /* 0 = none */
    uint32_t depth;
    bool recursive;         /* an ancestor has the same code */
    uint64_t calls;         /* 0 in what was sampled */
    uint64_t samples;       /* that ended here, or blocks of memory; 0 in what was traced */
    uint64_t total_samples; /* with those below */
    uint64_t self, total;   /* in the unit of the measure: ns, bytes or blocks */
};

struct tree {
    struct tree_node *nodes;
    uint32_t count;
    enum measure measure; /* what self and total are */
    bool estimated;
};

int tree_build(const struct recording *recording, const struct selection *selection, struct tree *tree,
               struct err *err);
/* Only what was recorded as stacks; flat profiles are left out. */
int tree_build_exact(const struct recording *recording, const struct selection *selection, struct tree *tree,
                     struct err *err);
/* The same rows seen from the leaves: children of a node are its callers. total is the leaf's self time
 * that came along this chain of callers, self the part that goes no further up. Chains end at a fixed
 * length and where they hold next to nothing. Flat files: two levels. */
int tree_build_bottom_up(const struct recording *recording, const struct selection *selection,
                         struct tree *tree, struct err *err);
/* The same of a tree that is there already and is not estimated. */
int tree_build_bottom_up_from(const struct tree *exact, uint32_t code_count, struct tree *tree,
                              struct err *err);
void tree_clear(struct tree *tree);

/* Calls `enter` for each node in depth-first order, children hottest first, and `leave` when its subtree is
 * done (either may be NULL). */
typedef void tree_visit(const struct tree *tree, uint32_t node, void *context);
void tree_walk(const struct tree *tree, tree_visit *enter, tree_visit *leave, void *context);

/* For those who fill `nodes` themselves: links the children and sets depth and recursive from parent, code
 * and total. */
int tree_link(struct tree *tree, uint32_t code_count, struct err *err);

/* Whether the selection takes in the thread; flat profiles belong to no thread and need tree_selection_is_all. */
bool tree_selection_has(const struct selection *selection, const struct recording *recording,
                        uint32_t thread);
bool tree_selection_is_all(const struct selection *selection);
/* Whether it takes in the sample. */
bool tree_selection_has_sample(const struct selection *selection, const struct recording *recording,
                               const struct sample_row *sample);
/* The same recording without its stacks: what a flat profile alone says. Borrowed. */
struct recording tree_flat_part(const struct recording *recording);

#endif
