#include "collect/agent/heap_ranges.h"

#include <sched.h>
#include <string.h>

#include "collect/agent/own_memory.h"

#define RANGES_MAX (1u << 16)

static struct heap_range *ranges; /* by address */
static uint32_t range_count;
static uint32_t locked;

static void lock(void)
{
    while (__atomic_exchange_n(&locked, 1, __ATOMIC_ACQUIRE))
        sched_yield();
}

static void unlock(void)
{
    __atomic_store_n(&locked, 0, __ATOMIC_RELEASE);
}

/* The first range that ends behind the address. */
static uint32_t find(uint64_t address)
{
    uint32_t low = 0, high = range_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (ranges[middle].high <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool insert(uint32_t place, const struct heap_range *range)
{
    if (!ranges)
        ranges = own_memory_map(RANGES_MAX * sizeof *ranges);
    if (!ranges || range_count == RANGES_MAX)
        return false;
    memmove(&ranges[place + 1], &ranges[place], (range_count - place) * sizeof *ranges);
    ranges[place] = *range;
    range_count++;
    return true;
}

bool heap_ranges_add(uint64_t low, uint64_t high, uint32_t record)
{
    const struct heap_range range = {
        .low = low, .high = high, .mapped_bytes = high - low, .record = record, .is_first = 1};
    lock();
    bool added = insert(find(low), &range);
    unlock();
    return added;
}

bool heap_ranges_holds(uint64_t address)
{
    lock();
    uint32_t place = range_count ? find(address) : 0;
    bool holds = place < range_count && ranges[place].low <= address;
    unlock();
    return holds;
}

/* Cuts [low, high) out of the range at a place; gives the place of what comes behind it. */
static uint32_t cut(uint32_t place, uint64_t low, uint64_t high, heap_ranges_gone *gone, void *context)
{
    struct heap_range before = ranges[place], part = before, after = before;
    part.low = low > before.low ? low : before.low;
    part.high = high < before.high ? high : before.high;
    before.high = part.low;
    after.low = part.high;
    bool has_before = before.high > before.low, has_after = after.high > after.low;
    part.is_first &= !has_before && !has_after;
    after.is_first &= !has_before;
    gone(context, &part);
    range_count--;
    memmove(&ranges[place], &ranges[place + 1], (range_count - place) * sizeof *ranges);
    if (has_before)
        insert(place++, &before);
    if (has_after)
        insert(place, &after);
    return place;
}

void heap_ranges_remove(uint64_t low, uint64_t high, heap_ranges_gone *gone, void *context)
{
    lock();
    uint32_t place = range_count ? find(low) : 0;
    while (place < range_count && ranges[place].low < high)
        place = cut(place, low, high, gone, context);
    unlock();
}

void heap_ranges_reset(void)
{
    range_count = 0;
    locked = 0;
}
