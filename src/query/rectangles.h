/*
 * rectangles: a tree as rectangles, level by level and from left to right in each, as icicle and flame graph, sunburst
 * and bottom-up picture draw them. A rectangle's parent has a smaller number.
 */
#ifndef SONDE_QUERY_RECTANGLES_H
#define SONDE_QUERY_RECTANGLES_H

#include <stdbool.h>
#include <stdint.h>

struct answer;
struct err;
struct tree;

struct rectangles_options {
    const uint32_t *ranks; /* by code: in this order children lie side by side; NULL = hottest first */
    bool nodes;     /* array node: which of the tree's a rectangle is, for who has more to say of each */
    uint64_t whole; /* arrays total_share and self_share, of this, and caller_share; 0 = none of them */
};

/* Arrays level (first of each level, and the end), parent, start, total, self (ns), code, and calls (samples where
 * there are no calls). There may be a million rectangles: what nobody shows is not here. `options` may be NULL. */
int rectangles_put(struct answer *answer, const struct tree *tree, const struct rectangles_options *options,
                   struct err *err);

#endif
