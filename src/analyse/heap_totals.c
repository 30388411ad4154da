#include "analyse/heap_totals.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/heap_kept.h"
#include "analyse/weights.h"
#include "base/err.h"
#include "store/recording.h"

struct adding {
    struct heap_total *total, *outside;
};

static void add_to(struct heap_total *total, const struct weight *weight)
{
    total->bytes += weight->amount;
    total->count += weight->samples;
}

static void add_weight(const struct weight *weight, void *context)
{
    const struct adding *adding = context;
    add_to(adding->total, weight);
    if (!weight->node)
        add_to(adding->outside, weight);
}

/* All that is alive, without asking whose it is. */
static struct heap_total alive_at_end(const struct recording *recording, const struct selection *selection,
                                      struct heap_total *arenas)
{
    struct heap_total alive = {0};
    bool sampled = heap_kept_is_sampled(recording);
    for (uint32_t i = 0; i < recording->heap_count; i++) {
        const struct heap_row *row = &recording->heap[i], *next = row + 1;
        bool is_last = i + 1 == recording->heap_count || next->thread != row->thread ||
                       next->node != row->node || next->allocator != row->allocator;
        if (!is_last || !tree_selection_has(selection, recording, row->thread))
            continue;
        struct heap_total *into = heap_kept_is_arenas(row, sampled) ? arenas : &alive;
        into->bytes += row->live_bytes;
        into->count += row->live_count;
    }
    return alive;
}

static bool is_of_heap(const struct recording *recording, const struct selection *selection, uint32_t counter)
{
    const struct counter *row = &recording->counters[counter];
    bool chosen = !selection || !selection->process || selection->process == row->process;
    return chosen && strcmp(recording_text(recording, row->name), "heap") == 0;
}

static uint64_t find_peak(const struct recording *recording, const struct selection *selection)
{
    int64_t highest = 0;
    uint64_t at_ns = 0;
    for (uint32_t i = 0; i < recording->series_count; i++) {
        const struct series_row *row = &recording->series[i];
        if (row->value <= highest || !is_of_heap(recording, selection, row->counter))
            continue;
        highest = row->value;
        at_ns = row->time_ns;
    }
    return at_ns;
}

static void read_metas(const struct recording *recording, struct heap_totals *totals)
{
    const char *sample = recording_meta(recording, "heap_sample_bytes");
    totals->sampled = heap_kept_is_sampled(recording);
    totals->sample_bytes = sample ? strtoull(sample, NULL, 10) : 0;
    totals->ended = recording_meta(recording, "heap_end_ns") != NULL;
}

int heap_totals_build(const struct recording *recording, const struct selection *selection,
                      struct heap_totals *totals, struct err *err)
{
    *totals = (struct heap_totals){0};
    for (enum measure measure = MEASURE_PEAK; measure <= MEASURE_TEMPORARY; measure++) {
        struct selection chosen = selection ? *selection : (struct selection){0};
        struct heap_total outside = {0};
        struct adding adding = {&totals->of[measure], measure == MEASURE_PEAK ? &totals->outside : &outside};
        chosen.measure = measure;
        if (weights_each(recording, &chosen, add_weight, &adding, err) < 0)
            return -1;
    }
    struct heap_total alive = alive_at_end(recording, selection, &totals->arenas);
    const struct heap_total *leaked = &totals->of[MEASURE_LEAKED];
    if (alive.bytes >= leaked->bytes)
        totals->kept = (struct heap_total){alive.bytes - leaked->bytes, alive.count - leaked->count};
    totals->peak_ns = find_peak(recording, selection);
    read_metas(recording, totals);
    return 0;
}

static int by_floor(const void *left, const void *right)
{
    const struct heap_histogram_row *a = left, *b = right;
    return a->floor_bytes < b->floor_bytes ? -1 : a->floor_bytes > b->floor_bytes;
}

static void add_up(struct heap_histogram *histogram)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < histogram->count; i++) {
        struct heap_histogram_row row = histogram->rows[i];
        if (kept && histogram->rows[kept - 1].floor_bytes == row.floor_bytes) {
            histogram->rows[kept - 1].count += row.count;
            histogram->rows[kept - 1].total_bytes += row.total_bytes;
            continue;
        }
        if (kept)
            histogram->rows[kept - 1].end_bytes = row.floor_bytes;
        histogram->rows[kept++] = row;
    }
    histogram->count = kept;
}

int heap_totals_histogram(const struct recording *recording, const struct selection *selection,
                          struct heap_histogram *histogram, struct err *err)
{
    *histogram = (struct heap_histogram){0};
    histogram->rows = calloc((size_t)recording->heap_sizes_count + 1, sizeof *histogram->rows);
    if (!histogram->rows)
        return err_set(err, "not enough memory for the sizes of allocations");
    for (uint32_t i = 0; i < recording->heap_sizes_count; i++) {
        const struct heap_size_row *row = &recording->heap_sizes[i];
        if (!selection || !selection->process || selection->process == row->process)
            histogram->rows[histogram->count++] =
                (struct heap_histogram_row){row->floor_bytes, UINT64_MAX, row->count, row->total_bytes};
    }
    if (histogram->count)
        qsort(histogram->rows, histogram->count, sizeof *histogram->rows, by_floor);
    add_up(histogram);
    return 0;
}
