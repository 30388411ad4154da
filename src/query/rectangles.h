/*
 * rectangles: a tree as rectangles, level by level and from left to right in each, as icicle and flame graph, sunburst
 * and bottom-up picture draw them. A rectangle's parent has a smaller number.
 */
#ifndef SONDE_QUERY_RECTANGLES_H
#define SONDE_QUERY_RECTANGLES_H

#include <stdint.h>

struct answer;
struct err;
struct tree;

/* Arrays level (first of each level, and the end), parent, start, total, self (ns), code, and calls (samples where
 * there are no calls). There may be a million rectangles: what nobody draws is not here. */
int rectangles_put(struct answer *answer, const struct tree *tree, struct err *err);
/* The same, and node: which of the tree's a rectangle is, for those who have more to say of each node. */
int rectangles_put_with_nodes(struct answer *answer, const struct tree *tree, struct err *err);

#endif
