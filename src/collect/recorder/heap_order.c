#include "collect/recorder/heap_order.h"

static const struct heap_event *first_of(const struct heap_order_ring *ring)
{
    return &ring->events[ring->taken % HEAP_AREA_RING_EVENTS];
}

/* False when there is nothing in it, or nothing that makes sense. */
static bool open_ring(const struct heap_order *order, uint32_t place, struct heap_order_ring *ring)
{
    struct heap_thread_row *row = &order->view.area->threads[place];
    uint32_t number = row->ring;
    if (!number || number > order->view.limits.rings)
        return false;
    *ring = (struct heap_order_ring){
        .row = row,
        .events = order->view.rings + (size_t)(number - 1) * HEAP_AREA_RING_EVENTS,
        .written = __atomic_load_n(&row->written, __ATOMIC_ACQUIRE),
        .taken = row->taken,
        .place = place,
    };
    uint64_t left = ring->written - ring->taken;
    return left && left <= HEAP_AREA_RING_EVENTS;
}

/* Opens the rings that have something. Gives the time up to which threads have said all. */
static uint64_t open_rings(struct heap_order *order, uint64_t until)
{
    struct heap_area *area = order->view.area;
    order->ring_count = 0;
    for (uint32_t i = 1; i < HEAP_AREA_THREADS && i < area->thread_count; i++) {
        bool busy = __atomic_load_n(&area->threads[i].busy, __ATOMIC_ACQUIRE);
        struct heap_order_ring ring;
        uint64_t last = order->last_ticks[i];
        if (order->ring_count < HEAP_AREA_RINGS && open_ring(order, i, &ring)) {
            order->rings[order->ring_count++] = ring;
            last = ring.events[(ring.written - 1) % HEAP_AREA_RING_EVENTS].ticks;
        }
        if (busy && area->threads[i].ring && last < until)
            until = last;
    }
    return until;
}

static bool is_any_filled(const struct heap_order *order, uint32_t events)
{
    for (uint32_t i = 0; i < order->ring_count; i++)
        if (order->rings[i].written - order->rings[i].taken > events)
            return true;
    return false;
}

/* The ring whose first event is the earliest, and when the earliest of the others is. NULL when all are empty. */
static struct heap_order_ring *find_earliest(struct heap_order *order, uint64_t *others)
{
    struct heap_order_ring *earliest = NULL;
    uint64_t ticks = *others = UINT64_MAX;
    for (uint32_t i = 0; i < order->ring_count; i++) {
        struct heap_order_ring *ring = &order->rings[i];
        if (ring->taken == ring->written)
            continue;
        uint64_t first = first_of(ring)->ticks;
        if (!earliest || first < ticks) {
            *others = earliest ? ticks : UINT64_MAX;
            ticks = first;
            earliest = ring;
        } else if (first < *others) {
            *others = first;
        }
    }
    return earliest;
}

/* Takes events of a ring that are not after `until`. */
static void take_from(struct heap_order *order, struct heap_order_ring *ring, uint64_t until,
                      heap_order_visit *visit, void *context)
{
    for (; ring->taken < ring->written; ring->taken++) {
        const struct heap_event event = *first_of(ring);
        if (event.ticks > until)
            break;
        order->last_ticks[ring->place] = event.ticks;
        visit(context, ring->place, &event);
        if (ring->taken % 1024 == 0)
            __atomic_store_n(&ring->row->taken, ring->taken, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&ring->row->taken, ring->taken, __ATOMIC_RELEASE);
}

bool heap_order_take(struct heap_order *order, uint64_t age_ticks, bool all, heap_order_visit *visit,
                     void *context)
{
    uint64_t now = heap_area_now(order->view.area), others;
    uint64_t until = open_rings(order, now > age_ticks ? now - age_ticks : 0);
    if (all || is_any_filled(order, HEAP_AREA_RING_EVENTS / 4 * 3)) /* nobody is kept waiting */
        until = UINT64_MAX;
    bool full = is_any_filled(order, HEAP_AREA_RING_EVENTS / 4);
    for (struct heap_order_ring *ring; (ring = find_earliest(order, &others));) {
        uint64_t taken = ring->taken;
        take_from(order, ring, others < until ? others : until, visit, context);
        if (ring->taken == taken)
            break;
    }
    return full;
}
