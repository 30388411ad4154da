#include "analyse/region_walk.h"

#include <stdlib.h>

#include "base/err.h"
#include "store/recording.h"

/* How often a region is open in the thread, and since when. */
struct nesting {
    uint32_t count;
    uint64_t begin_ns;
    int64_t begin_value;
};

struct walk {
    struct nesting *nesting;  /* by region */
    struct region_span *open; /* in the order of their begins */
    uint32_t depth, capacity;
    uint64_t last_ns; /* of the thread's events so far */
    region_visit *visit;
    void *context;
};

static bool is_level_free(const struct walk *walk, uint32_t level)
{
    for (uint32_t i = walk->depth; i-- > 0;)
        if (walk->open[i].level == level)
            return false;
    return true;
}

/* Nearly always as many as are open. */
static uint32_t find_level(const struct walk *walk)
{
    uint32_t top = walk->depth ? walk->open[walk->depth - 1].level + 1 : 0;
    if (top == walk->depth)
        return top;
    uint32_t level = 0;
    while (!is_level_free(walk, level))
        level++;
    return level;
}

static bool make_room(struct walk *walk)
{
    if (walk->depth < walk->capacity)
        return true;
    uint32_t capacity = walk->capacity ? 2 * walk->capacity : 64;
    struct region_span *open = realloc(walk->open, capacity * sizeof *open);
    if (!open)
        return false;
    walk->open = open;
    walk->capacity = capacity;
    return true;
}

/* Time that has passed belongs to the one that was entered last. */
static void pass_time(struct walk *walk, uint64_t now_ns)
{
    if (walk->depth && now_ns > walk->last_ns)
        walk->open[walk->depth - 1].self_ns += now_ns - walk->last_ns;
    walk->last_ns = now_ns;
}

static bool begin(struct walk *walk, const struct region_event_row *event)
{
    if (!make_room(walk))
        return false;
    struct nesting *nesting = &walk->nesting[event->region];
    if (!nesting->count++) {
        nesting->begin_ns = event->time_ns;
        nesting->begin_value = event->value;
    }
    uint32_t level = find_level(walk);
    walk->open[walk->depth++] = (struct region_span){.region = event->region,
                                                     .thread = event->thread,
                                                     .level = level,
                                                     .begin_ns = event->time_ns,
                                                     .begin_value = event->value};
    return true;
}

static void end(struct walk *walk, uint32_t place, uint64_t end_ns, int64_t value, bool by_program)
{
    struct region_span span = walk->open[place];
    struct nesting *nesting = &walk->nesting[span.region];
    walk->depth--;
    for (uint32_t i = place; i < walk->depth; i++)
        walk->open[i] = walk->open[i + 1];
    span.ended = by_program;
    span.end_ns = end_ns;
    span.end_value = value;
    span.closes = --nesting->count == 0;
    span.outer_begin_ns = nesting->begin_ns;
    span.outer_begin_value = nesting->begin_value;
    walk->visit(&span, walk->context);
}

/* An end without a begin says nothing: what came before may have been lost. */
static void end_named(struct walk *walk, const struct region_event_row *event)
{
    uint32_t place = walk->depth, back = event->back;
    while (place-- > 0) {
        bool is_meant = !event->ends || walk->open[place].region == event->ends;
        if (is_meant && back-- == 0) {
            end(walk, place, event->time_ns, event->value, true);
            return;
        }
    }
}

static void end_all(struct walk *walk, uint64_t end_ns)
{
    pass_time(walk, end_ns > walk->last_ns ? end_ns : walk->last_ns);
    while (walk->depth)
        end(walk, walk->depth - 1, walk->last_ns, walk->open[walk->depth - 1].begin_value, false);
}

static bool walk_rows(struct walk *walk, const struct recording *recording, uint32_t thread, uint64_t end_ns)
{
    const struct region_event_row *rows = recording->region_events;
    uint32_t first = region_walk_first(recording, thread), i = first;
    for (; i < recording->region_events_count && (!thread || rows[i].thread == thread); i++) {
        if (i == first || rows[i].thread != rows[i - 1].thread) {
            end_all(walk, end_ns);
            walk->last_ns = rows[i].time_ns;
        }
        pass_time(walk, rows[i].time_ns);
        if (!rows[i].region)
            end_named(walk, &rows[i]);
        else if (!begin(walk, &rows[i]))
            return false;
    }
    end_all(walk, end_ns);
    return true;
}

uint32_t region_walk_first(const struct recording *recording, uint32_t thread)
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

int region_walk_each(const struct recording *recording, uint32_t thread, uint64_t end_ns, region_visit *visit,
                     void *context, struct err *err)
{
    struct walk walk = {.visit = visit, .context = context};
    walk.nesting = calloc((size_t)recording->regions_count + 1, sizeof *walk.nesting);
    bool is_whole = walk.nesting && walk_rows(&walk, recording, thread, end_ns);
    free(walk.nesting);
    free(walk.open);
    return is_whole ? 0 : err_set(err, "out of memory while matching the ends of regions");
}

struct list {
    struct region_span *spans;
    uint32_t count;
};

static void put_in_list(const struct region_span *span, void *context)
{
    struct list *list = context;
    list->spans[list->count++] = *span;
}

static int by_begin(const void *left, const void *right)
{
    const struct region_span *a = left, *b = right;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->begin_ns != b->begin_ns)
        return a->begin_ns < b->begin_ns ? -1 : 1;
    return (a->level > b->level) - (a->level < b->level);
}

int region_walk_list(const struct recording *recording, uint64_t end_ns, struct region_span **spans,
                     uint32_t *count, struct err *err)
{
    struct list list = {.spans = malloc(((size_t)recording->region_events_count + 1) * sizeof *list.spans)};
    *spans = NULL;
    *count = 0;
    if (!list.spans)
        return err_set(err, "out of memory for the regions");
    if (region_walk_each(recording, 0, end_ns, put_in_list, &list, err) < 0) {
        free(list.spans);
        return -1;
    }
    qsort(list.spans, list.count, sizeof *list.spans, by_begin);
    *spans = list.spans;
    *count = list.count;
    return 0;
}
