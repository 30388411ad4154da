#include "import/brackets.h"

#include <stdlib.h>

#include "base/map.h"
#include "store/recording.h"

#define LANES_MAX 64

/* One thread: the brackets that are open, the innermost last. */
struct lane {
    uint32_t thread;
    const struct bracket **open;
    size_t count, capacity;
};

struct laying {
    struct recording *recording;
    struct map regions; /* name → region */
    struct lane lanes[LANES_MAX];
    size_t lane_count;
};

int brackets_add(struct brackets *brackets, const struct bracket *bracket)
{
    if (brackets->count == brackets->capacity) {
        size_t capacity = brackets->capacity * 2 + 64;
        struct bracket *grown = realloc(brackets->rows, capacity * sizeof *grown);
        if (!grown)
            return -1;
        brackets->rows = grown;
        brackets->capacity = capacity;
    }
    brackets->rows[brackets->count++] = *bracket;
    return 0;
}

void brackets_clear(struct brackets *brackets)
{
    free(brackets->rows);
    *brackets = (struct brackets){0};
}

/* What begins first, and of what begins together the longest, so that it lies around the others. */
static int by_begin(const void *left, const void *right)
{
    const struct bracket *a = left, *b = right;
    if (a->begin.time_ns != b->begin.time_ns)
        return a->begin.time_ns < b->begin.time_ns ? -1 : 1;
    if (a->end.time_ns != b->end.time_ns)
        return a->end.time_ns > b->end.time_ns ? -1 : 1;
    return 0;
}

static int put_event(struct laying *laying, const struct lane *lane, struct brackets_point point,
                     uint32_t region)
{
    const struct region_event_row row = {
        .time_ns = point.time_ns, .value = point.value, .thread = lane->thread, .region = region};
    return recording_add_region_event(laying->recording, &row) == UINT32_MAX ? -1 : 0;
}

static int end_until(struct laying *laying, struct lane *lane, uint64_t time_ns)
{
    while (lane->count && lane->open[lane->count - 1]->end.time_ns <= time_ns)
        if (put_event(laying, lane, lane->open[--lane->count]->end, 0) < 0)
            return -1;
    return 0;
}

static struct lane *new_lane(struct laying *laying)
{
    if (laying->lane_count == LANES_MAX)
        return NULL;
    struct lane *lane = &laying->lanes[laying->lane_count++];
    *lane = (struct lane){.thread = recording_add_thread(laying->recording, &(struct thread){.process = 1})};
    return lane;
}

/* The first lane where nothing is open, or what is open lasts at least as long. NULL when there are too many. */
static int find_lane(struct laying *laying, const struct bracket *bracket, struct lane **found)
{
    for (size_t i = 0; i < laying->lane_count; i++) {
        struct lane *lane = &laying->lanes[i];
        if (end_until(laying, lane, bracket->begin.time_ns) < 0)
            return -1;
        if (!lane->count || lane->open[lane->count - 1]->end.time_ns >= bracket->end.time_ns) {
            *found = lane;
            return 0;
        }
    }
    *found = new_lane(laying);
    return *found && !(*found)->thread ? -1 : 0;
}

static uint32_t region_of(struct laying *laying, uint32_t name)
{
    uint32_t region = map_get(&laying->regions, name);
    if (region != MAP_NONE)
        return region;
    region = recording_add_region(laying->recording, &(struct region){.name = name});
    return region && map_set(&laying->regions, name, region) ? region : 0;
}

static int open_bracket(struct laying *laying, struct lane *lane, const struct bracket *bracket)
{
    if (lane->count == lane->capacity) {
        size_t capacity = lane->capacity * 2 + 16;
        const struct bracket **grown = realloc(lane->open, capacity * sizeof *grown);
        if (!grown)
            return -1;
        lane->open = grown;
        lane->capacity = capacity;
    }
    lane->open[lane->count++] = bracket;
    uint32_t region = region_of(laying, bracket->name);
    return region ? put_event(laying, lane, bracket->begin, region) : -1;
}

static int lay_out(struct laying *laying, struct brackets *brackets)
{
    for (size_t i = 0; i < brackets->count; i++) {
        struct lane *lane;
        if (find_lane(laying, &brackets->rows[i], &lane) < 0)
            return -1;
        if (!lane)
            brackets->lost++;
        else if (open_bracket(laying, lane, &brackets->rows[i]) < 0)
            return -1;
    }
    for (size_t i = 0; i < laying->lane_count; i++)
        if (end_until(laying, &laying->lanes[i], UINT64_MAX) < 0)
            return -1;
    return 0;
}

int brackets_put(struct brackets *brackets, struct recording *recording)
{
    struct laying laying = {.recording = recording};
    if (!brackets->count)
        return 0;
    qsort(brackets->rows, brackets->count, sizeof *brackets->rows, by_begin);
    int result = lay_out(&laying, brackets);
    for (size_t i = 0; i < laying.lane_count; i++)
        free(laying.lanes[i].open);
    map_clear(&laying.regions);
    return result;
}
