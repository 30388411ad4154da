#include "analyse/timeless.h"

#include "base/err.h"
#include "base/sort.h"
#include "store/recording.h"

static int compare_samples(const void *a, const void *b, void *context)
{
    (void)context;
    const struct sample_row *left = a, *right = b;
    if (left->thread != right->thread)
        return left->thread < right->thread ? -1 : 1;
    if (left->node != right->node)
        return left->node < right->node ? -1 : 1;
    return left->state < right->state ? -1 : left->state > right->state;
}

static void add_sample(struct sample_row *sum, const struct sample_row *row)
{
    uint64_t count = (uint64_t)sum->count + row->count;
    sum->count = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
    sum->weight_ns += row->weight_ns;
}

/* The sort is stable: the first of equal rows is the earliest. */
static int add_up_samples(struct recording *recording, struct err *err)
{
    struct sample_row *rows = recording->samples;
    uint32_t kept = 0;
    if (sort_rows(rows, recording->samples_count, sizeof *rows, compare_samples, NULL, err) < 0)
        return -1;
    for (uint32_t i = 0; i < recording->samples_count; i++) {
        if (kept && compare_samples(&rows[kept - 1], &rows[i], NULL) == 0)
            add_sample(&rows[kept - 1], &rows[i]);
        else
            rows[kept++] = rows[i];
    }
    recording->samples_count = kept;
    return recording_order_samples(recording, err);
}

static bool is_history(const struct heap_row *row, const struct heap_row *next)
{
    return row->thread == next->thread && row->node == next->node && row->allocator == next->allocator;
}

/* Rows of the same stack stand together, the last word last. */
static void forget_history(struct recording *recording)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < recording->heap_count; i++)
        if (i + 1 == recording->heap_count || !is_history(&recording->heap[i], &recording->heap[i + 1]))
            recording->heap[kept++] = recording->heap[i];
    recording->heap_count = kept;
}

static void leave_out_moments(struct recording *recording)
{
    recording->call_events_count = 0;
    recording->region_events_count = recording->marks_count = 0;
    recording->allocations_count = 0;
    recording->series_count = 0;
    recording->messages_count = recording->collectives_count = 0;
    if (recording->counters_count)
        recording->counters_count = 1;
    if (recording->regions_count)
        recording->regions_count = 1;
}

int timeless_reduce(struct recording *recording, struct err *err)
{
    leave_out_moments(recording);
    forget_history(recording);
    if (add_up_samples(recording, err) < 0)
        return -1;
    return recording_set_meta(recording, "totals", "1") < 0 ? err_set(err, "out of memory") : 0;
}
