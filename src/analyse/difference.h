/*
 * difference: two call trees laid over each other, for comparing two recordings. Functions are the same when they have
 * the same name and file, whatever their lines and ids, so an edited program can be compared with what it was.
 */
#ifndef SONDE_ANALYSE_DIFFERENCE_H
#define SONDE_ANALYSE_DIFFERENCE_H

#include <stdint.h>

#include "analyse/functions.h"
#include "analyse/tree.h"

struct err;
struct recording;

/* What was before and what is after, of one stack or one function. */
struct difference_row {
    uint32_t before_code, after_code; /* 0 = not there */
    uint64_t before_self, after_self;
    uint64_t before_total, after_total;
    uint64_t before_calls, after_calls; /* samples where there are no calls */
};

/* The tree holds both: its codes are places in `functions` plus 1, its times the larger of the two sides; rows are by
 * node. Owned. */
struct difference {
    struct tree tree;
    struct difference_row *nodes;
    struct difference_row *functions;
    uint32_t function_count;
};

struct difference_side {
    const struct recording *recording;
    const struct tree *tree;
    const struct functions *functions;
};

int difference_build(const struct difference_side *before, const struct difference_side *after,
                     struct difference *difference, struct err *err);
void difference_clear(struct difference *difference);

#endif
