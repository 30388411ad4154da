/*
 * open_regions: the regions of a thread that have begun and not ended, the outermost first. A zeroed struct is empty; it owns its
 * rows.
 */
#ifndef SONDE_COLLECT_RECORDER_OPEN_REGIONS_H
#define SONDE_COLLECT_RECORDER_OPEN_REGIONS_H

#include <stdbool.h>
#include <stdint.h>

struct open_region {
    uint64_t ticks, owner; /* when it began, and for whom; 0 = for the thread */
    uint32_t region;
    bool skipped; /* its begin was not written: its end is not, either */
};

struct open_regions {
    struct open_region *rows;
    uint32_t count, capacity;
};

#define OPEN_REGIONS_NONE UINT32_MAX

void open_regions_clear(struct open_regions *regions);
/* False when there are too many, or without memory. */
bool open_regions_add(struct open_regions *regions, const struct open_region *region);
/* The innermost one of that region and owner that began before then. */
uint32_t open_regions_find(const struct open_regions *regions, uint32_t region, uint64_t owner,
                           uint64_t before_ticks);
/* How many of the same region, whoever's, are further in and had begun by then. */
uint32_t open_regions_back(const struct open_regions *regions, uint32_t place, uint64_t ticks);
void open_regions_remove(struct open_regions *regions, uint32_t place);

#endif
