/*
 * tree_maker: makes a tree out of paths: a child is found by its parent and function, or made.
 *
 * Callers add to self, samples and calls of nodes; totals, links and depths come with tree_maker_finish. Failure is
 * sticky: after memory ran out every child is node 0. A zeroed struct is empty and must be begun.
 */
#ifndef SONDE_ANALYSE_TREE_MAKER_H
#define SONDE_ANALYSE_TREE_MAKER_H

#include "analyse/tree.h"
#include "base/map.h"

struct tree_maker {
    struct tree tree;
    uint32_t capacity;
    struct map places; /* (parent, code) → node */
    bool failed;
};

/* Makes the root. */
void tree_maker_begin(struct tree_maker *maker);
uint32_t tree_maker_child(struct tree_maker *maker, uint32_t parent, uint32_t code);
/* Gives the tree; the maker is empty afterwards, also when it failed. */
int tree_maker_finish(struct tree_maker *maker, uint32_t code_count, struct tree *tree, struct err *err);

#endif
