/*
 * heap_totals: what a recording of memory comes to: how much was alive at the peak and when that was, how much was
 * allocated in all, never freed, and freed at once; and the allocations by size.
 */
#ifndef SONDE_ANALYSE_HEAP_TOTALS_H
#define SONDE_ANALYSE_HEAP_TOTALS_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/measure.h"

struct err;
struct recording;
struct selection;

struct heap_total {
    uint64_t bytes, count;
};

struct heap_totals {
    struct heap_total
        of[MEASURE_TEMPORARY + 1]; /* by measure, from MEASURE_PEAK on; of stacks, as trees have them */
    struct heap_total outside;     /* of MEASURE_PEAK: without a stack, as before Python ran */
    struct heap_total arenas;      /* alive at the end, and taken by Python's object allocator */
    struct heap_total kept;        /* alive at the end, and the interpreter's */
    uint64_t peak_ns;      /* when the heap of the largest process was at its highest; 0 = not known */
    bool sampled;          /* these are estimates */
    uint64_t sample_bytes; /* one allocation was looked at for so many bytes; 0 = not known */
    bool ended;            /* the program came to its end: what is alive then was never freed */
};

int heap_totals_build(const struct recording *recording, const struct selection *selection,
                      struct heap_totals *totals, struct err *err);

/* Allocations by size: as many rows as heap_sizes has floors, the smallest first. Owned: free `rows`. */
struct heap_histogram {
    struct heap_histogram_row {
        uint64_t floor_bytes, end_bytes; /* sizes from floor on, below end; UINT64_MAX = no end */
        uint64_t count, total_bytes;
    } * rows;
    uint32_t count;
};

int heap_totals_histogram(const struct recording *recording, const struct selection *selection,
                          struct heap_histogram *histogram, struct err *err);

#endif
