#include "analyse/chart_curve.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/chart.h"
#include "analyse/series.h"
#include "base/err.h"
#include "store/recording.h"

static double seconds_after(uint64_t time_ns, uint64_t origin_ns)
{
    return time_ns > origin_ns ? (double)(time_ns - origin_ns) / 1e9 : 0;
}

static void put(struct chart_curve *curve, double time_s, double value)
{
    curve->points[curve->count++] = (struct chart_point){time_s, value};
}

/* A sum that falls was set back: what it grew by meanwhile is not known. */
static void put_rates(struct chart_curve *curve, const struct series *series, uint64_t origin_ns)
{
    for (uint32_t i = 0; i + 1 < series->count; i++) {
        const struct series_row *row = &series->rows[i];
        double length_ns = (double)row[1].time_ns - (double)row->time_ns;
        double growth = (double)row[1].value - (double)row->value;
        if (!(length_ns > 0) || growth < 0)
            continue;
        put(curve, seconds_after(row->time_ns, origin_ns), growth / length_ns * series->scale);
        put(curve, seconds_after(row[1].time_ns, origin_ns), growth / length_ns * series->scale);
    }
}

int chart_curve_fill(struct chart_curve *curve, const struct series *series, uint64_t origin_ns, double scale,
                     struct err *err)
{
    curve->points = malloc(((size_t)series->count * 2 + 1) * sizeof *curve->points);
    if (!curve->points)
        return err_set(err, "out of memory for a curve of %u points", series->count);
    if (series->kind == COUNTER_SUM)
        put_rates(curve, series, origin_ns);
    for (uint32_t i = 0; series->kind != COUNTER_SUM && i < series->count; i++)
        put(curve, seconds_after(series->rows[i].time_ns, origin_ns),
            series_value(series, &series->rows[i]) * scale);
    return 0;
}

/* ---- the window ---- */

uint32_t chart_curve_first_at(const struct chart_curve *curve, double time_s)
{
    uint32_t low = 0, high = curve->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (curve->points[middle].time_s < time_s)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* On the line between the point before `at` and the point at it. */
static struct chart_point between(const struct chart_curve *curve, uint32_t at, double time_s)
{
    const struct chart_point *before = &curve->points[at - 1], *after = &curve->points[at];
    double part = (time_s - before->time_s) / (after->time_s - before->time_s);
    return (struct chart_point){time_s, before->value + part * (after->value - before->value)};
}

static void find_peak(struct chart_curve *curve, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++) {
        if (curve->has_peak && curve->points[i].value <= curve->peak.value)
            continue;
        curve->peak = curve->points[i];
        curve->has_peak = true;
    }
}

int chart_curve_cut(struct chart_curve *curve, double from_s, double to_s, struct err *err)
{
    uint32_t first = chart_curve_first_at(curve, from_s), end = first;
    while (end < curve->count && curve->points[end].time_s <= to_s)
        end++;
    find_peak(curve, first, end);
    struct chart_point *kept = malloc(((size_t)(end - first) + 2) * sizeof *kept);
    if (!kept)
        return err_set(err, "out of memory for a curve of %u points", curve->count);
    uint32_t count = 0;
    if (first > 0 && first < curve->count && curve->points[first].time_s > from_s)
        kept[count++] = between(curve, first, from_s);
    memcpy(kept + count, curve->points + first, (end - first) * sizeof *kept);
    count += end - first;
    if (end > 0 && end < curve->count && curve->points[end - 1].time_s < to_s)
        kept[count++] = between(curve, end, to_s);
    free(curve->points);
    curve->points = kept;
    curve->count = count;
    return 0;
}

/* ---- thinning ---- */

/* The points [from, to) of one column: its first, lowest, highest and last, in their order. */
static uint32_t put_column(const struct chart_curve *curve, uint32_t from, uint32_t to,
                           struct chart_point *out)
{
    uint32_t low = from, high = from, count = 0;
    for (uint32_t i = from; i < to; i++) {
        low = curve->points[i].value < curve->points[low].value ? i : low;
        high = curve->points[i].value > curve->points[high].value ? i : high;
    }
    uint32_t picks[] = {from, low < high ? low : high, low < high ? high : low, to - 1};
    for (uint32_t i = 0; i < 4; i++)
        if (i == 0 || picks[i] != picks[i - 1])
            out[count++] = curve->points[picks[i]];
    return count;
}

struct chart_point *chart_curve_thin(const struct chart_curve *curve, double from_s, double to_s,
                                     unsigned columns, uint32_t *count, struct err *err)
{
    size_t most = (size_t)columns * 4 + 4 < curve->count ? (size_t)columns * 4 + 4 : curve->count;
    struct chart_point *out = malloc((most + 1) * sizeof *out);
    *count = 0;
    if (!out) {
        err_set(err, "out of memory for a curve");
        return NULL;
    }
    if (most == curve->count) {
        memcpy(out, curve->points, most * sizeof *out);
        *count = (uint32_t)most;
        return out;
    }
    uint32_t at = 0;
    for (unsigned column = 0; column <= columns && at < curve->count; column++) {
        double until_s = from_s + (to_s - from_s) * (column + 1) / columns;
        uint32_t first = at;
        while (at < curve->count && (curve->points[at].time_s < until_s || column == columns))
            at++;
        if (at > first)
            *count += put_column(curve, first, at, out + *count);
    }
    return out;
}
