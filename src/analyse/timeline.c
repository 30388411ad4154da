#include "analyse/timeline.h"

#include "analyse/tree.h"
#include "store/recording.h"

/* Sampling times are exponentially distributed: one in 8,000 intervals is longer than this many periods more. */
#define STRETCH 8

static uint64_t add_saturating(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void widen(struct timeline_axis *axis, uint64_t begin_ns, uint64_t end_ns)
{
    axis->begin_ns = least(axis->begin_ns, begin_ns);
    axis->end_ns = end_ns > axis->end_ns ? end_ns : axis->end_ns;
}

/* Of a recording of memory: from the first process's start to the last word on the heap. */
static struct timeline_axis axis_of_memory(const struct recording *recording)
{
    struct timeline_axis axis = {.begin_ns = UINT64_MAX};
    for (uint32_t i = 1; i < recording->processes_count; i++)
        widen(&axis, recording->processes[i].start_ns, recording->processes[i].end_ns);
    for (uint32_t i = 0; i < recording->heap_count; i++)
        widen(&axis, recording->heap[i].at_ns, recording->heap[i].at_ns);
    for (uint32_t i = 0; i < recording->allocations_count; i++)
        widen(&axis, recording->allocations[i].time_ns, recording->allocations[i].time_ns);
    return axis.end_ns > axis.begin_ns ? axis : (struct timeline_axis){0};
}

struct timeline_axis timeline_axis(const struct recording *recording)
{
    struct timeline_axis axis = {.begin_ns = UINT64_MAX};
    bool timed = recording->samples_count || recording->call_events_count;
    if (!timed && (recording->heap_count || recording->allocations_count))
        return axis_of_memory(recording);
    for (uint32_t i = 0; i < recording->call_events_count; i++)
        widen(&axis, recording->call_events[i].start_ns, recording->call_events[i].end_ns);
    for (uint32_t i = 0; i < recording->samples_count; i++) {
        const struct sample_row *row = &recording->samples[i];
        uint64_t end_ns = add_saturating(row->time_ns, row->weight_ns);
        widen(&axis, row->time_ns, end_ns);
    }
    return timed ? axis : (struct timeline_axis){0};
}

/* The first row whose thread is not below. */
static uint32_t first_of(const struct recording *recording, uint64_t thread)
{
    uint32_t low = 0, high = recording->samples_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (recording->samples[middle].thread < thread)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void timeline_rows(const struct recording *recording, uint32_t thread, uint32_t *first, uint32_t *end)
{
    *first = first_of(recording, thread);
    *end = first_of(recording, (uint64_t)thread + 1);
}

void timeline_begin(struct timeline *timeline, const struct recording *recording,
                    const struct selection *selection, const uint32_t *stack_of, struct timeline_axis axis,
                    uint32_t thread)
{
    *timeline = (struct timeline){.recording = recording,
                                  .selection = selection,
                                  .stack_of = stack_of,
                                  .axis = axis,
                                  .at_ns = axis.begin_ns};
    timeline_rows(recording, thread, &timeline->next, &timeline->end);
}

static uint64_t end_of(const struct timeline *timeline, const struct sample_row *row, bool last)
{
    uint64_t end_ns = add_saturating(row->time_ns, row->weight_ns);
    if (!last) {
        uint64_t period_ns = row->weight_ns / row->count;
        uint64_t limit_ns =
            add_saturating(end_ns, period_ns > UINT64_MAX / STRETCH ? UINT64_MAX : period_ns * STRETCH);
        end_ns = least(row[1].time_ns, limit_ns);
    }
    return least(end_ns, timeline->axis.end_ns);
}

static struct span gap(const struct timeline *timeline, uint64_t end_ns)
{
    return (struct span){timeline->at_ns, end_ns, TIMELINE_GAP};
}

/* One sample, or the gap before it. */
static bool next_piece(struct timeline *timeline, struct span *piece)
{
    while (timeline->next < timeline->end) {
        const struct sample_row *row = &timeline->recording->samples[timeline->next];
        if (row->time_ns > timeline->at_ns) {
            *piece = gap(timeline, row->time_ns);
            timeline->at_ns = row->time_ns;
            return true;
        }
        uint64_t end_ns = end_of(timeline, row, ++timeline->next == timeline->end);
        if (end_ns <= timeline->at_ns)
            continue;
        bool shown = tree_selection_has_sample(timeline->selection, timeline->recording, row) && row->node;
        *piece = gap(timeline, end_ns);
        if (shown)
            piece->node = timeline->stack_of ? timeline->stack_of[row->node] : row->node;
        timeline->at_ns = end_ns;
        return true;
    }
    if (timeline->at_ns >= timeline->axis.end_ns)
        return false;
    *piece = gap(timeline, timeline->axis.end_ns);
    timeline->at_ns = timeline->axis.end_ns;
    return true;
}

bool timeline_next(struct timeline *timeline, struct span *span)
{
    if (!timeline->holding && !next_piece(timeline, &timeline->held))
        return false;
    *span = timeline->held;
    while ((timeline->holding = next_piece(timeline, &timeline->held))) {
        if (timeline->held.node != span->node)
            break;
        span->end_ns = timeline->held.end_ns;
    }
    return true;
}
