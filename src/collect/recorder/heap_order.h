/*
 * heap_order: the events of a heap area's rings in the order in which they happened, whichever thread's they are: a block
 * that one thread frees may be another's at once.
 *
 * A thread may have read the clock and not yet said what it did; so the newest events are left for the next time, and all that
 * are newer than the last word of a thread that is at it. The area is not trusted: at worst the order is wrong.
 */
#ifndef SONDE_COLLECT_RECORDER_HEAP_ORDER_H
#define SONDE_COLLECT_RECORDER_HEAP_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/agent/heap_area.h"

/* A ring that is being read. */
struct heap_order_ring {
    struct heap_thread_row *row;
    const struct heap_event *events;
    uint64_t taken, written;
    uint32_t place; /* of the row */
};

/* One with a view set is ready. */
struct heap_order {
    struct heap_area_view view;
    uint64_t last_ticks[HEAP_AREA_THREADS]; /* of the last event that was taken, by row */
    struct heap_order_ring rings[HEAP_AREA_RINGS];
    uint32_t ring_count;
};

/* `place`: the row of the thread. */
typedef void heap_order_visit(void *context, uint32_t place, const struct heap_event *event);

/* Gives the events that are older than so many ticks, or all of them. True when the rings were rather full. */
bool heap_order_take(struct heap_order *order, uint64_t age_ticks, bool all, heap_order_visit *visit,
                     void *context);

#endif
