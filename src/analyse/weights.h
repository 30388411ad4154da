/*
 * weights: the rows of a recording as stacks that weigh something in the measure of a selection: the one place that knows
 * which rows a measure is made of. Trees, groups, threads and lines add these weights up.
 */
#ifndef SONDE_ANALYSE_WEIGHTS_H
#define SONDE_ANALYSE_WEIGHTS_H

#include <stdint.h>

#include "analyse/tree.h"

struct err;
struct recording;

struct weight {
    uint32_t thread;
    uint32_t node;    /* 0 = the thread had no stack */
    uint64_t amount;  /* in the unit of the measure */
    uint64_t calls;   /* of calls */
    uint64_t samples; /* samples, or blocks of memory */
};

typedef void weights_visit(const struct weight *weight, void *context);

/* Calls `visit` for all that the selection takes in; `selection` may be NULL. */
int weights_each(const struct recording *recording, const struct selection *selection, weights_visit *visit,
                 void *context, struct err *err);

#endif
