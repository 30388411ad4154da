/*
 * flat: sums flat functions and edges into a recording, so that it holds one row for each function and one
 * for each pair of caller and callee. A zeroed struct knows no rows yet; it belongs to one recording, whose
 * flat rows are all added through it. It owns only its maps.
 */
#ifndef SONDE_STORE_FLAT_H
#define SONDE_STORE_FLAT_H

#include "base/map.h"

struct recording;
struct flat_function;
struct flat_edge;

struct flat {
    struct map functions; /* code → row */
    struct map edges;     /* (caller, callee) → row */
};

/* Adds to the row of the same function or pair. -1 when memory ran out. */
int flat_add_function(struct flat *flat, struct recording *recording, const struct flat_function *function);
int flat_add_edge(struct flat *flat, struct recording *recording, const struct flat_edge *edge);
void flat_clear(struct flat *flat);

#endif
