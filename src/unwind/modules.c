#include "unwind/modules.h"

#include <string.h>

/* How many entries start at or before the address. */
static uint32_t count_before(const struct modules *modules, uint64_t address)
{
    uint32_t low = 0, high = modules->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (modules->entries[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int modules_add(struct modules *modules, uint64_t start, uint64_t end, uint64_t bias, const struct rows *rows)
{
    uint32_t place = count_before(modules, start);
    struct modules_entry *entry = &modules->entries[place];
    bool overlaps = (place && entry[-1].end > start) || (place < modules->count && entry->start < end);
    if (start >= end || overlaps || modules->count == MODULES_MAX)
        return -1;
    memmove(entry + 1, entry, (modules->count - place) * sizeof *entry);
    *entry = (struct modules_entry){.start = start, .end = end, .bias = bias};
    entry->rows_at = rows ? (int64_t)((uintptr_t)rows - (uintptr_t)modules) : 0;
    modules->count++;
    return 0;
}

uint32_t modules_find(const struct modules *modules, uint64_t address)
{
    uint32_t place = count_before(modules, address);
    return place && address < modules->entries[place - 1].end ? place - 1 : MODULES_NONE;
}
