#include "collect/agent/sample_area.h"

#include <string.h>

void sample_area_format(struct sample_area *area, uint64_t bytes, uint64_t pid, uint64_t period_ns,
                        uint32_t python)
{
    bool counter = clock_has_counter();
    struct clock_pair now = clock_read_pair(counter);
    area->total_bytes = bytes;
    area->pid = pid;
    area->start_ticks = now.ticks;
    area->start_ns = now.ns;
    area->ns_per_tick = counter ? 0.0 : 1.0;
    area->period_ns = period_ns;
    area->python = python;
    code_rows_format(&area->codes);
    __atomic_store_n(&area->magic, SAMPLE_AREA_MAGIC, __ATOMIC_RELEASE);
}

static void copy_in(struct sample_slot *slot, uint64_t at, const void *bytes, size_t size)
{
    size_t begin = at % SAMPLE_AREA_RING_BYTES;
    size_t first = size < SAMPLE_AREA_RING_BYTES - begin ? size : SAMPLE_AREA_RING_BYTES - begin;
    memcpy(slot->ring + begin, bytes, first);
    memcpy(slot->ring, (const char *)bytes + first, size - first);
}

bool sample_area_put(struct sample_slot *slot, struct sample_record *record, const struct sample_part *parts,
                     size_t count)
{
    uint64_t taken = __atomic_load_n(&slot->taken, __ATOMIC_ACQUIRE), at = slot->written + sizeof *record;
    record->bytes = sizeof *record;
    for (size_t i = 0; i < count; i++)
        record->bytes += (uint32_t)parts[i].size;
    if (record->bytes > SAMPLE_AREA_RING_BYTES - (slot->written - taken))
        return false;
    copy_in(slot, slot->written, record, sizeof *record);
    for (size_t i = 0; i < count; at += parts[i++].size)
        copy_in(slot, at, parts[i].bytes, parts[i].size);
    __atomic_store_n(&slot->written, at, __ATOMIC_RELEASE);
    return true;
}
