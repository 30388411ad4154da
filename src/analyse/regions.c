#include "analyse/regions.h"

#include <stdlib.h>

#include "analyse/region_walk.h"
#include "analyse/series.h"
#include "analyse/tree.h"
#include "base/err.h"
#include "store/recording.h"

struct summing {
    const struct recording *recording;
    const struct selection *selection;
    struct regions_row *rows; /* by region */
    uint32_t *first;          /* by region: the first one of its name; files that are merged have their own */
};

static void add(const struct region_span *span, void *context)
{
    struct summing *summing = context;
    struct regions_row *row = &summing->rows[summing->first[span->region]];
    uint64_t length_ns = span->end_ns - span->begin_ns;
    if (!tree_selection_has(summing->selection, summing->recording, span->thread))
        return;
    row->open += !span->ended;
    row->self_ns += span->self_ns;
    row->least_ns = row->count && row->least_ns < length_ns ? row->least_ns : length_ns;
    row->most_ns = row->most_ns > length_ns ? row->most_ns : length_ns;
    row->most = row->count && row->most > span->begin_value ? row->most : span->begin_value;
    row->most = row->most > span->end_value ? row->most : span->end_value;
    row->count++;
    if (!span->closes)
        return;
    row->total_ns += span->end_ns - span->outer_begin_ns;
    row->growth =
        (int64_t)((uint64_t)row->growth + (uint64_t)span->end_value - (uint64_t)span->outer_begin_value);
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

static void find_first(const struct recording *recording, uint32_t *of_name, uint32_t *first)
{
    for (uint32_t i = 1; i < recording->regions_count; i++) {
        uint32_t name = recording->regions[i].name;
        if (!of_name[name])
            of_name[name] = i;
        first[i] = of_name[name];
    }
}

int regions_build(const struct recording *recording, const struct selection *selection,
                  struct regions *regions, struct err *err)
{
    struct summing summing = {.recording = recording, .selection = selection};
    *regions = (struct regions){0};
    summing.rows = calloc((size_t)recording->regions_count + 1, sizeof *summing.rows);
    summing.first = calloc((size_t)recording->regions_count + 1, sizeof *summing.first);
    uint32_t *of_name = calloc((size_t)recording->strings.count + 1, sizeof *of_name);
    int result = -1;
    if (!summing.rows || !summing.first || !of_name) {
        err_set(err, "out of memory while adding regions up");
    } else {
        find_first(recording, of_name, summing.first);
        result = region_walk_each(recording, 0, series_whole_axis(recording).end_ns, add, &summing, err);
    }
    free(of_name);
    free(summing.first);
    if (result < 0) {
        free(summing.rows);
        return -1;
    }
    regions->rows = summing.rows;
    keep_those_that_ran(regions, recording->regions_count);
    return 0;
}

void regions_clear(struct regions *regions)
{
    free(regions->rows);
    *regions = (struct regions){0};
}
