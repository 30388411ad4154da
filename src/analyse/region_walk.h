/*
 * region_walk: the regions of a recording as spans of time, each told when it ends, thread by thread. The one place that
 * knows which end belongs to which begin.
 */
#ifndef SONDE_ANALYSE_REGION_WALK_H
#define SONDE_ANALYSE_REGION_WALK_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct recording;

struct region_span {
    uint32_t region, thread;
    uint32_t
        level;  /* the lowest that no other open one of the thread had: how deep it lies, when they nest */
    bool ended; /* by the program; else it was open when the recording ended */
    uint64_t begin_ns, end_ns;
    uint64_t self_ns; /* while no later one was open */
    int64_t begin_value, end_value;
    /* Whether the region is no longer open in the thread, and since when it was: of regions inside themselves the time
     * is told once, with the outermost. */
    bool closes;
    uint64_t outer_begin_ns;
    int64_t outer_begin_value;
};

typedef void region_visit(const struct region_span *span, void *context);

/* Of one thread, or (0) of all. What is still open ends at `end_ns`, or with its thread's last event when that is later. */
int region_walk_each(const struct recording *recording, uint32_t thread, uint64_t end_ns, region_visit *visit,
                     void *context, struct err *err);
/* The same as an array, by thread, then begin. Free it in the end. */
int region_walk_list(const struct recording *recording, uint64_t end_ns, struct region_span **spans,
                     uint32_t *count, struct err *err);
/* Where the events of a thread begin, which lie together. */
uint32_t region_walk_first(const struct recording *recording, uint32_t thread);

#endif
