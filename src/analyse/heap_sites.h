/*
 * heap_sites: where memory is allocated, for sentences: the line of the program's own code that is innermost on the
 * stack, else the innermost line of Python, else the function. Owns its rows.
 */
#ifndef SONDE_ANALYSE_HEAP_SITES_H
#define SONDE_ANALYSE_HEAP_SITES_H

#include <stdint.h>

#include "analyse/heap_totals.h"

struct bytes;

struct heap_site {
    uint32_t code, line;                         /* a line of 0 is not known */
    struct heap_total of[MEASURE_TEMPORARY + 1]; /* by measure, from MEASURE_PEAK on */
};

struct heap_sites {
    struct heap_site *rows;
    uint32_t count;
};

int heap_sites_build(const struct recording *recording, const struct selection *selection,
                     struct heap_sites *sites, struct err *err);
void heap_sites_clear(struct heap_sites *sites);

/* The sites with the most bytes of the measure first, by numbers of blocks those with the most blocks. */
int heap_sites_sort(struct heap_sites *sites, enum measure measure, struct err *err);
/* The site with the most bytes of the measure; NULL when none has any. */
const struct heap_site *heap_sites_most(const struct heap_sites *sites, enum measure measure);
/* "load() at x.py:12" */
void heap_sites_put(const struct recording *recording, const struct heap_site *site, struct bytes *out);

#endif
