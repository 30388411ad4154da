#include "analyse/region_order.h"

#include <stdbool.h>

#include "analyse/region_walk.h"
#include "base/err.h"
#include "store/recording.h"

/* Regions that are deeper are not shown: no program means them to be read. */
#define LEVELS_MAX 64

struct building {
    struct time_order *order;
    uint64_t begin_ns, end_ns, pixel_ns;
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

static void take(const struct region_span *span, void *context)
{
    struct building *building = context;
    if (span->level < LEVELS_MAX && !building->failed)
        add(building, (struct time_order_row){span->begin_ns, span->end_ns, span->region, span->level});
}

bool region_order_has(const struct recording *recording, uint32_t thread)
{
    uint32_t first = region_walk_first(recording, thread);
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
    if (region_walk_each(recording, thread, end_ns, take, &building, err) < 0 || building.failed) {
        time_order_clear(order);
        return building.failed ? err_set(err, "out of memory while laying out regions") : -1;
    }
    time_order_sort(order);
    return 0;
}
