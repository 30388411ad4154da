/*
 * tree: the calling-context tree of a chosen part of a recording, with inclusive times.
 *
 * Nodes are in top-down order (a parent before its children), node 0 is the root; children of a node are
 * linked, hottest first. For a recording that holds only a flat profile (.prof) the tree is estimated from
 * caller pairs by splitting a callee's time in proportion, and `estimated` is set.
 */
#ifndef SONDE_ANALYSE_TREE_H
#define SONDE_ANALYSE_TREE_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct recording;

/* Which part: 0 = all. Ids of the recording. */
struct selection {
    uint32_t process;
    uint32_t thread;
};

struct tree_node {
    uint32_t code;
    uint32_t parent;
    uint32_t first_child, next_sibling; /* 0 = none */
    uint32_t depth;
    bool recursive; /* an ancestor has the same code */
    uint64_t calls;
    uint64_t self_ns;
    uint64_t total_ns;
};

struct tree {
    struct tree_node *nodes;
    uint32_t count;
    bool estimated;
};

int tree_build(const struct recording *recording, const struct selection *selection, struct tree *tree,
               struct err *err);
/* The same rows seen from the leaves: children of a node are its callers. Flat files: one or two levels. */
int tree_build_bottom_up(const struct recording *recording, const struct selection *selection,
                         struct tree *tree, struct err *err);
void tree_clear(struct tree *tree);

#endif
