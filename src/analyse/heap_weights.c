#include "analyse/heap_weights.h"

#include <stdlib.h>

#include "analyse/heap_kept.h"
#include "analyse/heap_log.h"
#include "base/err.h"
#include "store/recording.h"

/* Which two numbers of a row a measure is about. */
struct amounts {
    uint64_t bytes, count;
};

bool heap_weights_of_range(const struct selection *selection)
{
    return selection && (selection->begin_ns || selection->end_ns);
}

bool heap_weights_is_exact(const struct recording *recording)
{
    return recording->allocations_count > 0;
}

static enum measure in_bytes(enum measure measure)
{
    return measure >= MEASURE_PEAK_COUNT ? measure - MEASURE_PEAK_COUNT + MEASURE_PEAK : measure;
}

static struct amounts amounts_of(const struct heap_row *row, enum measure measure)
{
    switch (in_bytes(measure)) {
    case MEASURE_PEAK:
        return (struct amounts){row->peak_bytes, row->peak_count};
    case MEASURE_LEAKED:
        return (struct amounts){row->live_bytes, row->live_count};
    case MEASURE_TEMPORARY:
        return (struct amounts){row->temporary_bytes, row->temporary_count};
    default:
        return (struct amounts){row->total_bytes, row->total_count};
    }
}

static uint64_t growth(uint64_t before, uint64_t after)
{
    return after > before ? after - before : 0;
}

static struct amounts growth_of(const struct heap_row *before, const struct heap_row *after,
                                enum measure measure)
{
    enum measure what = in_bytes(measure) == MEASURE_PEAK ? MEASURE_LEAKED : measure;
    struct amounts old = amounts_of(before, what), new = amounts_of(after, what);
    return (struct amounts){growth(old.bytes, new.bytes), growth(old.count, new.count)};
}

/* Rows [first, end) of one stack. */
struct history {
    const struct heap_row *first, *end;
};

static struct history history_at(const struct recording *recording, uint32_t at)
{
    const struct heap_row *row = &recording->heap[at], *end = recording->heap + recording->heap_count;
    struct history history = {row, row + 1};
    while (history.end < end && history.end->thread == row->thread && history.end->node == row->node &&
           history.end->allocator == row->allocator)
        history.end++;
    return history;
}

/* The state at a time; of nothing, when that was before the first row. */
static struct heap_row state_at(struct history history, uint64_t time_ns)
{
    struct heap_row state = {0};
    for (const struct heap_row *row = history.first; row < history.end && row->at_ns <= time_ns; row++)
        state = *row;
    return state;
}

struct summing {
    const struct selection *selection;
    enum measure measure;
    bool *kept; /* by row; NULL unless leaks are asked for */
};

static struct amounts weigh(const struct summing *summing, struct history history)
{
    const struct heap_row *last = history.end - 1;
    if (heap_weights_of_range(summing->selection)) {
        uint64_t end_ns = summing->selection->end_ns ? summing->selection->end_ns : UINT64_MAX;
        struct heap_row before = state_at(history, summing->selection->begin_ns);
        struct heap_row after = state_at(history, end_ns);
        return growth_of(&before, &after, summing->measure);
    }
    return amounts_of(last, summing->measure);
}

static void visit_rows(const struct recording *recording, const struct summing *summing, weights_visit *visit,
                       void *context)
{
    bool blocks = measure_unit(summing->measure) == MEASURE_BLOCKS;
    for (uint32_t at = 0; at < recording->heap_count;) {
        struct history history = history_at(recording, at);
        const struct heap_row *row = history.first;
        bool is_kept = summing->kept && summing->kept[at];
        at += (uint32_t)(history.end - history.first);
        struct amounts amounts = is_kept ? (struct amounts){0} : weigh(summing, history);
        const struct weight weight = {.thread = row->thread,
                                      .node = row->node,
                                      .amount = blocks ? amounts.count : amounts.bytes,
                                      .samples = amounts.count};
        if ((amounts.bytes || amounts.count) &&
            tree_selection_has(summing->selection, recording, row->thread))
            visit(&weight, context);
    }
}

int heap_weights_each(const struct recording *recording, const struct selection *selection,
                      enum measure measure, weights_visit *visit, void *context, struct err *err)
{
    struct summing summing = {.selection = selection, .measure = measure};
    bool ranged = heap_weights_of_range(selection);
    if (ranged && heap_weights_is_exact(recording))
        return heap_log_each(recording, selection, measure, visit, context, err);
    if (!ranged && in_bytes(measure) == MEASURE_LEAKED) {
        summing.kept = heap_kept_rows(recording, err);
        if (!summing.kept)
            return -1;
    }
    visit_rows(recording, &summing, visit, context);
    free(summing.kept);
    return 0;
}
