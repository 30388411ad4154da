#include "collect/agent/heap_area.h"

#include "collect/agent/native_area.h"

#define ALIGNMENT 128u

static uint64_t align(uint64_t at)
{
    return (at + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
}

/* Where the tables lie; both sides compute the same. */
struct places {
    uint64_t nodes_at, records_at, rings_at, native_at, total_bytes;
};

static struct places place(const struct heap_area_limits *limits)
{
    struct places places = {.nodes_at = align(sizeof(struct heap_area))};
    places.records_at = align(places.nodes_at + (uint64_t)limits->nodes * sizeof(struct heap_node));
    places.rings_at = align(places.records_at + (uint64_t)limits->records * sizeof(struct heap_record));
    places.native_at =
        align(places.rings_at + (uint64_t)limits->rings * HEAP_AREA_RING_EVENTS * sizeof(struct heap_event));
    places.total_bytes = places.native_at + (limits->native ? sizeof(struct native_area) : 0);
    return places;
}

uint64_t heap_area_bytes(const struct heap_area_limits *limits)
{
    return place(limits).total_bytes;
}

bool heap_area_limits_within(uint64_t bytes, bool log, bool native, struct heap_area_limits *limits)
{
    *limits = (struct heap_area_limits){
        .nodes = HEAP_AREA_NODES, .records = HEAP_AREA_RECORDS, .rings = log ? HEAP_AREA_RINGS : 0};
    while (heap_area_bytes(limits) > bytes && limits->nodes > 1024) {
        limits->nodes /= 2;
        limits->records /= 2;
        limits->rings -= limits->rings / 2;
    }
    if (heap_area_bytes(limits) > bytes)
        return false;
    limits->native = native;
    return true;
}

void heap_area_format(struct heap_area *area, const struct heap_area_limits *limits, uint64_t pid,
                      uint32_t python)
{
    bool counter = clock_has_counter();
    struct clock_pair now = clock_read_pair(counter);
    const struct places places = place(limits);
    area->limits = *limits;
    area->nodes_at = places.nodes_at;
    area->records_at = places.records_at;
    area->rings_at = places.rings_at;
    area->native_at = places.native_at;
    area->total_bytes = places.total_bytes;
    area->pid = pid;
    area->start_ticks = now.ticks;
    area->start_ns = now.ns;
    area->ns_per_tick = counter ? 0.0 : 1.0;
    area->python = python;
    area->thread_count = area->node_count = area->record_count = 1;
    area->epoch = 1;
    code_rows_format(&area->codes);
    __atomic_store_n(&area->magic, HEAP_AREA_MAGIC, __ATOMIC_RELEASE);
}

bool heap_area_look(struct heap_area_view *view, struct heap_area *area, uint64_t size)
{
    if (size < sizeof *area || __atomic_load_n(&area->magic, __ATOMIC_ACQUIRE) != HEAP_AREA_MAGIC)
        return false;
    struct heap_area_limits limits = area->limits;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (limits.nodes > HEAP_AREA_NODES || limits.records > HEAP_AREA_RECORDS ||
        limits.rings > HEAP_AREA_RINGS || limits.native > 1 || place(&limits).total_bytes != size)
        return false;
    const struct places places = place(&limits);
    const char *start = (const char *)area;
    *view = (struct heap_area_view){.area = area,
                                    .limits = limits,
                                    .nodes = (const void *)(start + places.nodes_at),
                                    .records = (const void *)(start + places.records_at),
                                    .rings = (const void *)(start + places.rings_at)};
    if (limits.native)
        view->native = (void *)((char *)area + places.native_at);
    return true;
}
