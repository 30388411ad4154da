#include "analyse/call_order.h"

#include <stdlib.h>

#include "base/err.h"
#include "store/call_events.h"
#include "store/recording.h"

/* Deeper calls are not shown. */
#define LEVELS_MAX 4096u

struct building {
    const struct recording *recording;
    struct time_order *order;
    uint64_t begin_ns;
    double pixel_ns;
    uint32_t depth;
    struct {
        uint64_t end_ns; /* of the call that is open there */
        uint32_t row;    /* of the order: the last of this level, plus 1; 0 = none */
        bool is_thin;
        uint64_t longest_ns; /* of those in it */
    } levels[LEVELS_MAX];
};

static double column_of(const struct building *building, uint64_t time_ns)
{
    return time_ns > building->begin_ns ? (double)(time_ns - building->begin_ns) / building->pixel_ns : 0;
}

/* Whether it was drawn together with the one before it. */
static bool joins_last(struct building *building, const struct time_order_row *row)
{
    uint32_t place = building->levels[row->depth].row;
    uint64_t size_ns = row->end_ns - row->start_ns;
    if (!place || !building->levels[row->depth].is_thin || (double)size_ns >= building->pixel_ns)
        return false;
    struct time_order_row *last = &building->order->rows[place - 1];
    if ((uint64_t)column_of(building, last->start_ns) != (uint64_t)column_of(building, row->start_ns))
        return false;
    last->end_ns = row->end_ns;
    last->calls++;
    if (size_ns > building->levels[row->depth].longest_ns) {
        building->levels[row->depth].longest_ns = size_ns;
        last->code = row->code;
        last->line = row->line;
    }
    return true;
}

static bool add(struct building *building, const struct call_event_row *event)
{
    const struct time_order_row row = {
        event->start_ns, event->end_ns, building->recording->nodes[event->node].code, building->depth, 1,
        event->line};
    if (joins_last(building, &row))
        return true;
    uint64_t size_ns = row.end_ns - row.start_ns;
    building->levels[row.depth].longest_ns = size_ns;
    building->levels[row.depth].is_thin = (double)size_ns < building->pixel_ns;
    building->levels[row.depth].row = building->order->count + 1;
    return time_order_add(building->order, &row);
}

/* Calls before the window are passed over: those that reach into it come in the order of their levels, too. */
static bool add_calls(struct building *building, uint32_t thread, uint64_t end_ns)
{
    uint32_t first, end;
    call_events_of(building->recording, thread, &first, &end);
    for (uint32_t i = first; i < end && building->recording->call_events[i].start_ns < end_ns; i++) {
        const struct call_event_row *event = &building->recording->call_events[i];
        if (event->end_ns <= building->begin_ns)
            continue;
        while (building->depth && building->levels[building->depth - 1].end_ns <= event->start_ns)
            building->depth--;
        if (building->depth == LEVELS_MAX)
            continue;
        if (!add(building, event))
            return false;
        building->levels[building->depth++].end_ns = event->end_ns;
    }
    return true;
}

int call_order_build(const struct recording *recording, uint32_t thread, uint64_t begin_ns, uint64_t end_ns,
                     uint32_t columns, struct time_order *order, struct err *err)
{
    *order = (struct time_order){0};
    if (end_ns <= begin_ns)
        return 0;
    struct building *building = calloc(1, sizeof *building);
    columns = columns && columns < TIME_ORDER_COLUMNS_MAX ? columns : TIME_ORDER_COLUMNS_MAX;
    bool done = building != NULL;
    if (done) {
        building->recording = recording;
        building->order = order;
        building->begin_ns = begin_ns;
        building->pixel_ns = (double)(end_ns - begin_ns) / columns;
        done = add_calls(building, thread, end_ns);
    }
    free(building);
    if (!done) {
        time_order_clear(order);
        return err_set(err, "not enough memory to lay out the calls");
    }
    time_order_sort(order);
    return 0;
}
