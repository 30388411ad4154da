#include "analyse/chart_spans.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/chart.h"
#include "analyse/region_stack.h"
#include "base/err.h"
#include "store/recording.h"

#define SPANS_MAX 1000000
#define SKIPPED   UINT32_MAX

/* One recording's regions being laid out. */
struct laying {
    struct chart *chart;
    const struct recording *recording;
    uint64_t origin_ns;
    struct region_stack stack;
    uint32_t *spans; /* of what is open there; SKIPPED = begun when there were too many */
    uint32_t deepest;
    uint32_t base; /* the lane of the thread's outermost spans */
    double last_s; /* of the thread's events */
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

static int begin(struct laying *laying, uint32_t event, struct err *err)
{
    struct chart *chart = laying->chart;
    const struct region_event_row *row = &laying->recording->region_events[event];
    const struct region *region = &laying->recording->regions[row->region];
    uint32_t depth = laying->stack.depth;
    struct chart_span span = {.file = chart->file_count - 1,
                              .level = laying->base + depth,
                              .start_s = seconds(laying, row->time_ns),
                              .end_s = INFINITY};
    region_stack_begin(&laying->stack, event);
    laying->spans[depth] = SKIPPED;
    if (chart->span_count >= SPANS_MAX)
        return 0;
    if (find_function(chart, recording_text(laying->recording, region->name), &span.function, err) != 0)
        return -1;
    laying->spans[depth] = chart->span_count;
    laying->deepest = depth + 1 > laying->deepest ? depth + 1 : laying->deepest;
    chart->spans[chart->span_count++] = span;
    return 0;
}

static void end(struct laying *laying, uint32_t place, double time_s, bool known)
{
    uint32_t number = laying->spans[place];
    region_stack_remove(&laying->stack, place);
    memmove(laying->spans + place, laying->spans + place + 1,
            (laying->stack.depth - place) * sizeof *laying->spans);
    if (number == SKIPPED)
        return;
    struct chart_span *span = &laying->chart->spans[number];
    span->end_s = fmax(time_s, span->start_s);
    span->cut_end = !known;
}

/* What had not ended went on at least as long as the thread is heard of. */
static void end_thread(struct laying *laying)
{
    while (laying->stack.depth)
        end(laying, laying->stack.depth - 1, laying->last_s, false);
    laying->base += laying->deepest;
    laying->deepest = 0;
}

static int take(struct laying *laying, uint32_t event, struct err *err)
{
    const struct region_event_row *row = &laying->recording->region_events[event];
    laying->last_s = seconds(laying, row->time_ns);
    if (row->region)
        return begin(laying, event, err);
    uint32_t place = region_stack_find(&laying->stack, event);
    if (place != REGION_STACK_NONE)
        end(laying, place, laying->last_s, true);
    return 0;
}

static int take_all(struct laying *laying, struct err *err)
{
    const struct recording *recording = laying->recording;
    for (uint32_t i = 0; i < recording->region_events_count; i++) {
        const struct region_event_row *event = &recording->region_events[i];
        if (i && event->thread != event[-1].thread)
            end_thread(laying);
        if (take(laying, i, err) != 0)
            return -1;
    }
    end_thread(laying);
    laying->chart->files[laying->chart->file_count - 1].lanes = laying->base;
    return 0;
}

int chart_spans_add(struct chart *chart, const struct recording *recording, uint64_t origin_ns,
                    struct err *err)
{
    struct laying laying = {.chart = chart, .recording = recording, .origin_ns = origin_ns};
    uint32_t events = recording->region_events_count;
    if (!events)
        return 0;
    struct chart_span *rows = realloc(chart->spans, ((size_t)chart->span_count + events) * sizeof *rows);
    if (rows)
        chart->spans = rows;
    laying.spans = malloc(((size_t)events + 1) * sizeof *laying.spans);
    int result = rows && laying.spans ? region_stack_init(&laying.stack, recording, err)
                                      : err_set(err, "out of memory for the plot");
    if (result == 0)
        result = take_all(&laying, err);
    free(laying.spans);
    region_stack_clear(&laying.stack);
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
