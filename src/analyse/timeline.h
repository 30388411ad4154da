/*
 * timeline: the samples of one thread as what it did from when to when, on an axis that all threads share.
 *
 * A sample holds until the thread's next one, but not much longer than the time it stands for: after that nobody
 * knows. What the selection leaves out (idle threads) and what nobody knows are gaps, so that the spans of a
 * thread follow each other without holes from the axis's begin to its end, and equal neighbours are one span.
 */
#ifndef SONDE_ANALYSE_TIMELINE_H
#define SONDE_ANALYSE_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

struct recording;
struct selection;

#define TIMELINE_GAP UINT32_MAX

struct timeline_axis {
    uint64_t begin_ns, end_ns;
};

struct span {
    uint64_t start_ns, end_ns;
    uint32_t node; /* TIMELINE_GAP = nothing to show */
};

struct timeline {
    const struct recording *recording; /* borrowed, as all pointers here */
    const struct selection *selection;
    const uint32_t *stack_of; /* by node: equal numbers are equal stacks; NULL = nodes are */
    struct timeline_axis axis;
    uint32_t next, end; /* rows of the thread that are to come */
    uint64_t at_ns;
    struct span held; /* read ahead */
    bool holding;
};

/* Of all samples of all threads, or where there are none of single calls, or of what is known of the heap. Both 0 when there is nothing. */
struct timeline_axis timeline_axis(const struct recording *recording);
/* The thread's rows in recording->samples: *first up to *end. */
void timeline_rows(const struct recording *recording, uint32_t thread, uint32_t *first, uint32_t *end);
void timeline_begin(struct timeline *timeline, const struct recording *recording,
                    const struct selection *selection, const uint32_t *stack_of, struct timeline_axis axis,
                    uint32_t thread);
/* False at the end of the axis. */
bool timeline_next(struct timeline *timeline, struct span *span);

#endif
