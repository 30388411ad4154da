#include "analyse/region_spans.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/region_walk.h"
#include "analyse/series.h"
#include "base/err.h"
#include "store/recording.h"

struct gathering {
    const struct recording *recording;
    const char *name;
    struct region_spans *spans;
};

static bool is_named(const struct recording *recording, uint32_t region, const char *name)
{
    return strcmp(recording_text(recording, recording->regions[region].name), name) == 0;
}

static void take(const struct region_span *span, void *context)
{
    struct gathering *gathering = context;
    struct region_spans *spans = gathering->spans;
    if (span->closes && is_named(gathering->recording, span->region, gathering->name))
        spans->rows[spans->count++] =
            (struct region_spans_row){span->outer_begin_ns, span->end_ns, span->thread};
}

static int by_begin(const void *left, const void *right)
{
    const struct region_spans_row *a = left, *b = right;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

/* Several regions of one name, as of merged files, may overlap. */
static void join_touching(struct region_spans *spans)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < spans->count; i++) {
        struct region_spans_row *last = kept ? &spans->rows[kept - 1] : NULL, row = spans->rows[i];
        if (!last || last->thread != row.thread || row.begin_ns > last->end_ns)
            spans->rows[kept++] = row;
        else if (row.end_ns > last->end_ns)
            last->end_ns = row.end_ns;
    }
    spans->count = kept;
}

int region_spans_build(const struct recording *recording, const char *name, struct region_spans *spans,
                       struct err *err)
{
    struct gathering gathering = {recording, name, spans};
    *spans = (struct region_spans){
        .rows = malloc(((size_t)recording->region_events_count + 1) * sizeof *spans->rows)};
    if (!spans->rows)
        return err_set(err, "out of memory for the times of a region");
    if (region_walk_each(recording, 0, series_whole_axis(recording).end_ns, take, &gathering, err) < 0) {
        region_spans_clear(spans);
        return -1;
    }
    qsort(spans->rows, spans->count, sizeof *spans->rows, by_begin);
    join_touching(spans);
    return 0;
}

void region_spans_clear(struct region_spans *spans)
{
    free(spans->rows);
    *spans = (struct region_spans){0};
}

bool region_spans_has(const struct region_spans *spans, uint32_t thread, uint64_t time_ns)
{
    uint32_t low = 0, high = spans->count;
    while (low < high) { /* the first that ends later */
        uint32_t middle = low + (high - low) / 2;
        const struct region_spans_row *row = &spans->rows[middle];
        if (row->thread < thread || (row->thread == thread && row->end_ns <= time_ns))
            low = middle + 1;
        else
            high = middle;
    }
    return low < spans->count && spans->rows[low].thread == thread && spans->rows[low].begin_ns <= time_ns;
}

bool region_spans_knows(const struct recording *recording, const char *name)
{
    for (uint32_t i = 1; i < recording->regions_count; i++)
        if (is_named(recording, i, name))
            return true;
    return false;
}
