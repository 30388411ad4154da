#include "analyse/trend.h"

#include <math.h>
#include <stdlib.h>

#include "analyse/chart.h"
#include "base/err.h"

#define PIECES         240 /* of time; their pairs are what is sorted */
#define PIECES_MIN     3
#define NORMAL_95      1.959964 /* standard deviations */
#define CORRELATED_MAX 0.98

static int by_size(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Means over equal pieces of time; pieces without a point are left out. */
static uint32_t average(const struct chart_point *points, uint32_t count, struct chart_point *means)
{
    double start_s = points[0].time_s, piece_s = (points[count - 1].time_s - start_s) / PIECES;
    uint32_t used = 0;
    for (uint32_t at = 0; at < count;) {
        double until_s = start_s + piece_s * (floor((points[at].time_s - start_s) / piece_s) + 1);
        struct chart_point sum = {0};
        uint32_t first = at;
        do {
            sum.time_s += points[at].time_s;
            sum.value += points[at].value;
        } while (++at < count && (points[at].time_s < until_s || used == PIECES));
        means[used++] = (struct chart_point){sum.time_s / (at - first), sum.value / (at - first)};
    }
    return used;
}

static uint32_t pair_slopes(const struct chart_point *points, uint32_t count, double *slopes)
{
    uint32_t used = 0;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = i + 1; j < count; j++)
            if (points[j].time_s > points[i].time_s)
                slopes[used++] = (points[j].value - points[i].value) / (points[j].time_s - points[i].time_s);
    qsort(slopes, used, sizeof *slopes, by_size);
    return used;
}

static double middle(const double *sorted, uint32_t count)
{
    return count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

/* How many points of which each depends on the one before are worth one that does not: from the correlation of
 * neighbours' distances to the line. */
static double dependence(const struct chart_point *points, uint32_t count, const struct trend *trend)
{
    double last = 0, products = 0, squares = 0;
    for (uint32_t i = 0; i < count; i++) {
        double line = trend->from_value + trend->per_second * (points[i].time_s - trend->from_s);
        double off = points[i].value - line;
        products += off * last;
        squares += off * off;
        last = off;
    }
    double correlation = squares > 0 ? fmin(fmax(products / squares, 0), CORRELATED_MAX) : 0;
    return (1 + correlation) / (1 - correlation);
}

static void bound(const double *slopes, uint32_t pairs, double points, double worth, struct trend *trend)
{
    double variance = points * (points - 1) * (2 * points + 5) / 18 * worth;
    double ranks = fmin(NORMAL_95 * sqrt(variance), pairs - 1.0);
    trend->low = slopes[(uint32_t)((pairs - 1 - ranks) / 2)];
    trend->high = slopes[(uint32_t)ceil((pairs - 1 + ranks) / 2)];
}

static double line_start(const struct chart_point *points, uint32_t count, const struct trend *trend,
                         double *scratch)
{
    for (uint32_t i = 0; i < count; i++)
        scratch[i] = points[i].value - trend->per_second * (points[i].time_s - trend->from_s);
    qsort(scratch, count, sizeof *scratch, by_size);
    return middle(scratch, count);
}

static void fit(const struct chart_point *means, uint32_t used, double *slopes, double *offsets,
                struct trend *trend)
{
    uint32_t pairs = pair_slopes(means, used, slopes);
    if (used < PIECES_MIN || pairs == 0)
        return;
    trend->found = true;
    trend->per_second = middle(slopes, pairs);
    trend->from_value = line_start(means, used, trend, offsets);
    trend->to_value = trend->from_value + trend->per_second * (trend->to_s - trend->from_s);
    bound(slopes, pairs, used, dependence(means, used, trend), trend);
}

int trend_fit(const struct chart_point *points, uint32_t count, struct trend *trend, struct err *err)
{
    *trend = (struct trend){0};
    if (count < PIECES_MIN || !(points[count - 1].time_s > points[0].time_s))
        return 0;
    trend->from_s = points[0].time_s;
    trend->to_s = points[count - 1].time_s;
    uint32_t most = PIECES + 1; /* the last point lies on the end of the last piece */
    struct chart_point *means = malloc(most * sizeof *means);
    double *slopes = malloc((size_t)most * (most - 1) / 2 * sizeof *slopes);
    double *offsets = malloc(most * sizeof *offsets);
    bool good = means && slopes && offsets;
    if (good)
        fit(means, average(points, count, means), slopes, offsets, trend);
    free(means);
    free(slopes);
    free(offsets);
    return good ? 0 : err_set(err, "out of memory for the slope");
}
