/*
 * memory_region: what is allocated in this process while a region lasts, without a recorder. Regions may be nested and may
 * overlap; the counting begins with the first and ends with the last. In a program that `sonde mem` runs they look at
 * what is counted anyway.
 *
 * A region's figures are differences of what the counting has come to at its end and at its beginning. The peak lies
 * between: whenever a region begins or ends, the highest point since the last time is kept by each region for which it
 * is the highest, and the counting of the peak starts anew. All under the interpreter lock.
 */
#ifndef SONDE_COLLECT_INSIDE_MEMORY_REGION_H
#define SONDE_COLLECT_INSIDE_MEMORY_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct bytes;
struct err;
struct heap_area;

/* What was alive at a highest point, by record. */
struct memory_peak {
    uint64_t bytes, ticks;
    struct {
        uint64_t bytes, count;
    } * records;
    uint32_t record_count;
};

/* A zeroed one has not begun. Its memory must not move until it has ended. */
struct memory_region {
    struct memory_region *next; /* of those that go on */
    struct heap_area *before;   /* a copy of what had been counted; NULL = it has not begun */
    struct memory_peak peak;
    pid_t pid; /* the children of a fork have none of their parent's regions */
};

struct memory_totals {
    uint64_t peak_bytes, bytes, count, live_bytes, live_count;
};

/* -1 with words. */
int memory_region_begin(struct memory_region *region, bool python_allocators, char *why, size_t why_bytes);
/* Whether it began in a parent of this process, who alone has its figures. */
bool memory_region_is_parents(const struct memory_region *region);
/* Ends it; gives its figures, and all that is known as the bytes of a .sonde file. */
int memory_region_end(struct memory_region *region, struct memory_totals *totals, struct bytes *out,
                      struct err *err);
/* Ends it, if it has begun, for nothing. */
void memory_region_abandon(struct memory_region *region);

#endif
