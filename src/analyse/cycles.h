/*
 * cycles: functions that call each other in a circle (the strongly connected components of a call graph).
 *
 * Tarjan's algorithm with its stack on the heap: the graph comes from a file, and one of a million functions
 * in a row must not run out of C stack.
 */
#ifndef SONDE_ANALYSE_CYCLES_H
#define SONDE_ANALYSE_CYCLES_H

#include <stdint.h>

struct err;

/* Who calls whom: the callees of function f are callees[first[f]] .. callees[first[f + 1] - 1]. Borrowed. */
struct cycles_graph {
    uint32_t count;
    const uint32_t *first; /* count + 1 entries */
    const uint32_t *callees;
};

/* cycle[f] receives the number of the cycle that f belongs to, from 1; 0 = none. A function that only calls
 * itself is no cycle. `cycle_count` receives how many there are. */
int cycles_find(const struct cycles_graph *graph, uint32_t *cycle, uint32_t *cycle_count, struct err *err);

#endif
