/*
 * chart: counters over time as curves, ready to be drawn by whoever draws: pictures, a terminal.
 *
 * Recordings are added one by one, each aligned at its own first value; then chart_finish cuts everything to
 * the window and finds peaks, slopes and axes. Curves whose values have one unit share a panel; the panels have one time
 * axis. A counter that only grows is shown as its rate (CPU time: cores in use), constant between two values. Times are
 * seconds from the start and never fall along a curve; all numbers are finite. A zeroed struct is an empty chart; it
 * owns all that it points to.
 */
#ifndef SONDE_ANALYSE_CHART_H
#define SONDE_ANALYSE_CHART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "analyse/axis.h"
#include "analyse/trend.h"
#include "base/strings.h"

struct bytes;
struct err;
struct recording;

struct chart_point {
    double time_s, value;
};

struct chart_curve {
    char *label; /* what tells it from the others; "" = there are no others */
    char *process;
    char *counter;
    uint32_t file; /* the recording, as it was added */
    uint32_t panel;
    struct chart_point *points;
    uint32_t count;
    struct chart_point peak; /* of the values that were measured, not of the window's ends */
    bool has_peak;
    bool is_rate;       /* of a counter that only grows */
    struct trend trend; /* not of rates: they say themselves how fast something grows */
};

/* A stretch of time with a name: a call of a decorated function, a region. */
struct chart_span {
    uint32_t function; /* of the chart's functions */
    uint32_t file;
    uint32_t level; /* 0 = not inside another */
    double start_s, end_s;
    bool cut_start, cut_end; /* it began before the window, or ended after it */
};

/* All spans of one name. */
struct chart_function {
    uint32_t name;   /* a string of the chart's names */
    uint32_t number; /* its own place */
    uint32_t count;
    double total_s;
};

struct chart_panel {
    char *title; /* "memory", "CPU cores" */
    enum axis_kind kind;
    bool rate; /* values are per second */
    struct axis axis;
    uint32_t highest; /* the curve with the highest peak; UINT32_MAX = none */
};

struct chart_file {
    char *name;     /* as it was named */
    uint32_t lanes; /* of its spans, which lie below one another where they are nested or in other threads */
    bool processes; /* it has curves of several */
};

struct chart {
    struct chart_curve *curves; /* as they were added; more than can be named: the highest first */
    uint32_t curve_count;
    struct chart_panel *panels;
    uint32_t panel_count;
    struct strings names;
    struct chart_function *functions;
    uint32_t function_count;
    struct chart_span *spans;
    uint32_t span_count;
    struct chart_file *files; /* as they were added */
    uint32_t file_count;
    char *command; /* of the first recording; NULL = unknown */
    struct axis time;
};

#define CHART_NAMED_MAX 12 /* curves, or functions, that a legend has room for */

struct chart_options {
    const char *const *counters; /* names; none = those that count bytes, or else all */
    size_t counter_count;
    double from_s, to_s; /* the window; infinite = up to the last value */
    bool slope;
    bool functions;
};

/* `name`: the file. It is an error when the recording has none of the counters; the message names those it has. */
int chart_add(struct chart *chart, const struct recording *recording, const char *name,
              const struct chart_options *options, struct err *err);
int chart_finish(struct chart *chart, const struct chart_options *options, unsigned time_marks,
                 struct err *err);
void chart_clear(struct chart *chart);

static inline const char *chart_function_name(const struct chart *chart, uint32_t function)
{
    return strings_text(&chart->names, chart->functions[function].name);
}

/* Without its module, where there is little room. */
static inline const char *chart_function_short_name(const struct chart *chart, uint32_t function)
{
    const char *name = chart_function_name(chart, function), *dot = strrchr(name, '.');
    return dot && dot[1] ? dot + 1 : name;
}

/* The curve in at most 4 points for each of `columns` equal pieces of the time axis, without losing a highest or lowest
 * value: as a new array that the caller frees. */
struct chart_point *chart_thin(const struct chart *chart, const struct chart_curve *curve, unsigned columns,
                               uint32_t *count, struct err *err);

/* "812 MiB", "1.5 MiB/s". */
void chart_put_value(const struct chart_panel *panel, double value, struct bytes *out);
/* "peak 812 MiB at 3.20 s" */
void chart_put_peak(const struct chart *chart, const struct chart_curve *curve, struct bytes *out);
/* Of a curve that has a trend: "slope +2.02 MiB/s (95 %: 1.98 MiB/s to 2.41 MiB/s) from 0 s to 60.0 s". */
void chart_put_slope(const struct chart *chart, const struct chart_curve *curve, struct bytes *out);

#endif
