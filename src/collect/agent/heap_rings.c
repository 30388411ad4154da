#include "collect/agent/heap_rings.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collect/agent/heap_area.h"

#define WAITS_MAX 500 /* of this length each: */
#define WAIT_NS   100000

uint32_t heap_rings_new(struct heap_area *area)
{
    uint32_t ring = __atomic_add_fetch(&area->ring_count, 1, __ATOMIC_RELAXED);
    if (ring <= area->limits.rings)
        return ring;
    __atomic_fetch_sub(&area->ring_count, 1, __ATOMIC_RELAXED);
    return 0;
}

static bool is_full(const struct heap_thread_row *row)
{
    return row->written - __atomic_load_n(&row->taken, __ATOMIC_ACQUIRE) >= HEAP_AREA_RING_EVENTS;
}

static bool wait_for_room(struct heap_thread_row *row)
{
    const struct timespec wait = {.tv_nsec = WAIT_NS};
    if (row->given_up_at && row->given_up_at == row->taken + 1)
        return false;
    int saved = errno;
    for (int waits = 0; waits < WAITS_MAX && is_full(row); waits++)
        syscall(SYS_nanosleep, &wait, NULL);
    errno = saved;
    row->given_up_at = is_full(row) ? row->taken + 1 : 0;
    return !row->given_up_at;
}

void heap_rings_put(struct heap_area *area, struct heap_thread_row *row, uint64_t address, uint64_t entry)
{
    if (!row->ring || (is_full(row) && !wait_for_room(row))) {
        __atomic_fetch_add(&area->lost_events, 1, __ATOMIC_RELAXED);
        return;
    }
    heap_area_ring(area, row->ring)[row->written % HEAP_AREA_RING_EVENTS] =
        (struct heap_event){.ticks = heap_area_now(area), .address = address, .packed = entry};
    __atomic_store_n(&row->written, row->written + 1, __ATOMIC_RELEASE);
}
