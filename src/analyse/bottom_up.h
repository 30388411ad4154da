/*
 * bottom_up: self times seen from the leaves up: who called the functions in which the time was spent.
 *
 * The whole inverted tree can be as large as nodes times depth, so chains are grown level by level, for
 * BOTTOM_UP_MAX_LEVELS at most, and only where they hold BOTTOM_UP_MIN_SHARE of the run. A function that
 * calls itself is one step of a chain, however deep it went.
 */
#ifndef SONDE_ANALYSE_BOTTOM_UP_H
#define SONDE_ANALYSE_BOTTOM_UP_H

#define BOTTOM_UP_MAX_LEVELS 32
#define BOTTOM_UP_MIN_SHARE  0.0005

struct err;
struct recording;
struct selection;
struct tree;

/* Fills the tree's nodes, unlinked (see tree_link). */
int bottom_up_fill(const struct recording *recording, const struct selection *selection, struct tree *tree,
                   struct err *err);
/* Of a tree that is there already; what a flat profile has is left out. */
int bottom_up_fill_from(const struct tree *exact, struct tree *tree, struct err *err);

#endif
