#include "analyse/regions.h"

#include <stdbool.h>
#include <stdlib.h>

#include "analyse/region_stack.h"
#include "base/err.h"
#include "store/recording.h"

struct walk {
    const struct recording *recording;
    struct regions_row *rows;  /* by region */
    struct region_stack stack; /* what is open in a thread */
    uint32_t *nested;          /* by region: how often it is open */
};

static void forget_open(struct walk *walk)
{
    struct region_stack *stack = &walk->stack;
    while (stack->depth)
        walk->nested[walk->recording->region_events[stack->open[--stack->depth]].region]--;
}

static void begin(struct walk *walk, uint32_t event)
{
    const struct region_event_row *row = &walk->recording->region_events[event];
    region_stack_begin(&walk->stack, event);
    walk->nested[row->region]++;
}

static void end(struct walk *walk, uint32_t event)
{
    uint32_t place = region_stack_find(&walk->stack, event);
    if (place == REGION_STACK_NONE)
        return;
    const struct region_event_row *events = walk->recording->region_events;
    const struct region_event_row *begin = &events[walk->stack.open[place]], *end = &events[event];
    region_stack_remove(&walk->stack, place);
    struct regions_row *row = &walk->rows[begin->region];
    row->count++;
    row->most = row->count == 1 || begin->value > row->most ? begin->value : row->most;
    row->most = end->value > row->most ? end->value : row->most;
    if (--walk->nested[begin->region])
        return;
    row->total_ns += end->time_ns - begin->time_ns;
    row->growth = (int64_t)((uint64_t)row->growth + (uint64_t)end->value - (uint64_t)begin->value);
}

static void add_up(struct walk *walk)
{
    const struct region_event_row *events = walk->recording->region_events;
    for (uint32_t i = 0; i < walk->recording->region_events_count; i++) {
        if (i && events[i].thread != events[i - 1].thread)
            forget_open(walk);
        if (events[i].region)
            begin(walk, i);
        else
            end(walk, i);
    }
}

static int by_time(const void *left, const void *right)
{
    const struct regions_row *a = left, *b = right;
    if (a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    return (a->region > b->region) - (a->region < b->region);
}

static void keep_those_that_ran(struct regions *regions, uint32_t all)
{
    for (uint32_t i = 1; i < all; i++) {
        regions->rows[i].region = i;
        if (regions->rows[i].count)
            regions->rows[regions->count++] = regions->rows[i];
    }
    qsort(regions->rows, regions->count, sizeof *regions->rows, by_time);
}

int regions_build(const struct recording *recording, struct regions *regions, struct err *err)
{
    struct walk walk = {.recording = recording};
    *regions = (struct regions){0};
    walk.rows = calloc((size_t)recording->regions_count + 1, sizeof *walk.rows);
    walk.nested = calloc((size_t)recording->regions_count + 1, sizeof *walk.nested);
    bool is_whole = walk.rows && walk.nested && region_stack_init(&walk.stack, recording, err) == 0;
    if (is_whole) {
        add_up(&walk);
        regions->rows = walk.rows;
        keep_those_that_ran(regions, recording->regions_count);
    } else {
        free(walk.rows);
    }
    free(walk.nested);
    region_stack_clear(&walk.stack);
    return is_whole ? 0 : err_set(err, "out of memory while adding regions up");
}

void regions_clear(struct regions *regions)
{
    free(regions->rows);
    *regions = (struct regions){0};
}
