#include "analyse/chart_spans.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/chart.h"
#include "analyse/region_walk.h"
#include "base/err.h"
#include "store/recording.h"

#define SPANS_MAX 1000000

/* One recording's regions being laid out. */
struct laying {
    struct chart *chart;
    const struct recording *recording;
    uint64_t origin_ns;
    uint32_t base, deepest; /* the lanes of the thread: of its outermost spans, and how many there are */
};

static double seconds(const struct laying *laying, uint64_t time_ns)
{
    return time_ns > laying->origin_ns ? (double)(time_ns - laying->origin_ns) / 1e9 : 0;
}

/* The chart's functions are numbered as their names are. */
static int find_function(struct chart *chart, const char *name, uint32_t *function, struct err *err)
{
    uint32_t id = strings_intern_text(&chart->names, *name ? name : "(no name)");
    if (id == UINT32_MAX)
        return err_set(err, "out of memory for the plot");
    *function = id - 1;
    if (id <= chart->function_count)
        return 0;
    struct chart_function *rows = realloc(chart->functions, id * sizeof *rows);
    if (!rows)
        return err_set(err, "out of memory for the plot");
    rows[id - 1] = (struct chart_function){.name = id};
    chart->functions = rows;
    chart->function_count = id;
    return 0;
}

/* What had not ended went on at least as long as the thread is heard of. */
static int add(struct laying *laying, const struct region_span *region, struct err *err)
{
    struct chart *chart = laying->chart;
    struct chart_span span = {.file = chart->file_count - 1,
                              .level = laying->base + region->level,
                              .start_s = seconds(laying, region->begin_ns),
                              .end_s = seconds(laying, region->end_ns),
                              .cut_end = !region->ended};
    uint32_t name = laying->recording->regions[region->region].name;
    if (find_function(chart, recording_text(laying->recording, name), &span.function, err) != 0)
        return -1;
    laying->deepest = region->level + 1 > laying->deepest ? region->level + 1 : laying->deepest;
    chart->spans[chart->span_count++] = span;
    return 0;
}

static int add_all(struct laying *laying, const struct region_span *regions, uint32_t count, struct err *err)
{
    struct chart *chart = laying->chart;
    for (uint32_t i = 0; i < count && chart->span_count < SPANS_MAX; i++) {
        if (i && regions[i].thread != regions[i - 1].thread) {
            laying->base += laying->deepest;
            laying->deepest = 0;
        }
        if (add(laying, &regions[i], err) != 0)
            return -1;
    }
    chart->files[chart->file_count - 1].lanes = laying->base + laying->deepest;
    return 0;
}

int chart_spans_add(struct chart *chart, const struct recording *recording, uint64_t origin_ns,
                    struct err *err)
{
    struct laying laying = {.chart = chart, .recording = recording, .origin_ns = origin_ns};
    struct region_span *regions;
    uint32_t count;
    if (!recording->region_events_count)
        return 0;
    if (region_walk_list(recording, 0, &regions, &count, err) < 0)
        return -1;
    struct chart_span *rows = realloc(chart->spans, ((size_t)chart->span_count + count + 1) * sizeof *rows);
    if (rows)
        chart->spans = rows;
    int result = rows ? add_all(&laying, regions, count, err) : err_set(err, "out of memory for the plot");
    free(regions);
    return result;
}

uint64_t chart_spans_start(const struct recording *recording)
{
    uint64_t start_ns = UINT64_MAX;
    for (uint32_t i = 0; i < recording->region_events_count; i++)
        if (recording->region_events[i].time_ns < start_ns)
            start_ns = recording->region_events[i].time_ns;
    return start_ns;
}

static void clip(struct chart_span *span, double from_s, double to_s)
{
    span->cut_start |= span->start_s < from_s;
    span->cut_end |= span->end_s > to_s;
    span->start_s = fmax(span->start_s, from_s);
    span->end_s = fmin(span->end_s, to_s);
}

/* Functions of which nothing is in the window have no row in a legend. */
static void drop_unseen(struct chart *chart)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < chart->function_count; i++)
        chart->functions[i].number = chart->functions[i].count ? kept++ : 0;
    for (uint32_t i = 0; i < chart->span_count; i++)
        chart->spans[i].function = chart->functions[chart->spans[i].function].number;
    kept = 0;
    for (uint32_t i = 0; i < chart->function_count; i++)
        if (chart->functions[i].count)
            chart->functions[kept++] = chart->functions[i];
    chart->function_count = kept;
}

void chart_spans_cut(struct chart *chart, double from_s, double to_s)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < chart->span_count; i++) {
        struct chart_span span = chart->spans[i];
        if (span.end_s < from_s || span.start_s > to_s)
            continue;
        clip(&span, from_s, to_s);
        chart->functions[span.function].count++;
        chart->functions[span.function].total_s += span.end_s - span.start_s;
        chart->spans[kept++] = span;
    }
    chart->span_count = kept;
    drop_unseen(chart);
}
