#include "analyse/region_order.h"

#include <stdbool.h>

#include "base/err.h"
#include "store/recording.h"

/* Regions that are deeper are not shown: no program means them to be read. */
#define LEVELS_MAX 64

struct building {
    struct time_order *order;
    uint64_t begin_ns, end_ns, pixel_ns;
    struct {
        uint64_t start_ns;
        uint32_t region;
    } open[LEVELS_MAX];
    uint32_t depth; /* of what is open; may be larger than there is room for */
    struct {
        uint32_t row; /* the last of that level, plus 1; 0 = none */
        uint64_t longest_ns;
    } last[LEVELS_MAX];
    bool failed;
};

/* Whether it was drawn together with the one before it. */
static bool joins_last(struct building *building, const struct time_order_row *row)
{
    uint32_t place = building->last[row->depth].row;
    uint64_t size_ns = row->end_ns - row->start_ns;
    if (!place || size_ns >= building->pixel_ns)
        return false;
    struct time_order_row *last = &building->order->rows[place - 1];
    if (row->start_ns - last->end_ns >= building->pixel_ns ||
        building->last[row->depth].longest_ns >= building->pixel_ns)
        return false;
    last->end_ns = row->end_ns;
    if (size_ns > building->last[row->depth].longest_ns) {
        building->last[row->depth].longest_ns = size_ns;
        last->code = row->code;
    }
    return true;
}

static void add(struct building *building, struct time_order_row row)
{
    struct time_order *order = building->order;
    if (row.end_ns <= building->begin_ns || row.start_ns >= building->end_ns || joins_last(building, &row))
        return;
    if (!time_order_add(order, &row)) {
        building->failed = true;
        return;
    }
    building->last[row.depth].row = order->count;
    building->last[row.depth].longest_ns = row.end_ns - row.start_ns;
}

static void enter(struct building *building, const struct region_event_row *event)
{
    if (building->depth < LEVELS_MAX) {
        building->open[building->depth].start_ns = event->time_ns;
        building->open[building->depth].region = event->region;
    }
    building->depth++;
}

static void leave(struct building *building, uint64_t end_ns)
{
    if (!building->depth || --building->depth >= LEVELS_MAX)
        return;
    uint64_t start_ns = building->open[building->depth].start_ns;
    add(building, (struct time_order_row){start_ns, end_ns > start_ns ? end_ns : start_ns,
                                          building->open[building->depth].region, building->depth});
}

static uint32_t first_of(const struct recording *recording, uint32_t thread)
{
    uint32_t low = 0, high = recording->region_events_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (recording->region_events[middle].thread < thread)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool region_order_has(const struct recording *recording, uint32_t thread)
{
    uint32_t first = first_of(recording, thread);
    return first < recording->region_events_count && recording->region_events[first].thread == thread;
}

int region_order_build(const struct recording *recording, uint32_t thread, uint64_t begin_ns, uint64_t end_ns,
                       uint32_t columns, struct time_order *order, struct err *err)
{
    struct building building = {.order = order, .begin_ns = begin_ns, .end_ns = end_ns};
    *order = (struct time_order){0};
    if (end_ns <= begin_ns)
        return 0;
    building.pixel_ns = columns ? (end_ns - begin_ns) / columns : 0;
    const struct region_event_row *events = recording->region_events;
    for (uint32_t i = first_of(recording, thread);
         i < recording->region_events_count && events[i].thread == thread && !building.failed; i++) {
        if (events[i].region)
            enter(&building, &events[i]);
        else
            leave(&building, events[i].time_ns);
    }
    while (building.depth && !building.failed)
        leave(&building, end_ns);
    if (building.failed) {
        time_order_clear(order);
        return err_set(err, "out of memory while laying out regions");
    }
    time_order_sort(order);
    return 0;
}
