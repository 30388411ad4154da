/*
 * regions: the parts of a program that have names, added up: how often each ran, how long, and what was measured at its
 * begin and end. A region inside itself counts its time once. Owns its rows; a zeroed struct is empty.
 */
#ifndef SONDE_ANALYSE_REGIONS_H
#define SONDE_ANALYSE_REGIONS_H

#include <stdint.h>

struct err;
struct recording;

struct regions_row {
    uint32_t region;
    uint64_t count, total_ns;
    int64_t growth; /* of what was measured, from its begins to its ends */
    int64_t most;   /* the largest value of either */
};

struct regions {
    struct regions_row *rows; /* those that ran, the longest first */
    uint32_t count;
};

int regions_build(const struct recording *recording, struct regions *regions, struct err *err);
void regions_clear(struct regions *regions);

#endif
