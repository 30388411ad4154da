#include "analyse/region_order.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/region_stack.h"
#include "base/err.h"
#include "store/recording.h"

/* Regions that are deeper are not shown: no program means them to be read. */
#define LEVELS_MAX 64

struct building {
    struct time_order *order;
    uint64_t begin_ns, end_ns, pixel_ns;
    struct region_stack stack;
    uint32_t *levels; /* of what is open; may be larger than there is room for */
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

/* Below all that is open: what ends out of turn leaves its level free, but nothing moves. */
static void enter(struct building *building, uint32_t event)
{
    uint32_t depth = building->stack.depth;
    building->levels[depth] = depth ? building->levels[depth - 1] + 1 : 0;
    region_stack_begin(&building->stack, event);
}

static void leave(struct building *building, uint32_t place, uint64_t end_ns)
{
    const struct region_event_row *begin =
        &building->stack.recording->region_events[building->stack.open[place]];
    uint32_t level = building->levels[place];
    region_stack_remove(&building->stack, place);
    memmove(building->levels + place, building->levels + place + 1,
            (building->stack.depth - place) * sizeof *building->levels);
    if (level < LEVELS_MAX)
        add(building,
            (struct time_order_row){begin->time_ns, end_ns > begin->time_ns ? end_ns : begin->time_ns,
                                    begin->region, level});
}

static void take(struct building *building, uint32_t event)
{
    const struct region_event_row *row = &building->stack.recording->region_events[event];
    uint32_t place = row->region ? REGION_STACK_NONE : region_stack_find(&building->stack, event);
    if (row->region)
        enter(building, event);
    else if (place != REGION_STACK_NONE)
        leave(building, place, row->time_ns);
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
    building.levels = malloc(((size_t)recording->region_events_count + 1) * sizeof *building.levels);
    building.failed = !building.levels || region_stack_init(&building.stack, recording, err) < 0;
    const struct region_event_row *events = recording->region_events;
    for (uint32_t i = first_of(recording, thread);
         i < recording->region_events_count && events[i].thread == thread && !building.failed; i++)
        take(&building, i);
    while (building.stack.depth && !building.failed)
        leave(&building, building.stack.depth - 1, end_ns);
    region_stack_clear(&building.stack);
    free(building.levels);
    if (building.failed) {
        time_order_clear(order);
        return err_set(err, "out of memory while laying out regions");
    }
    time_order_sort(order);
    return 0;
}
