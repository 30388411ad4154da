/*
 * trend: how fast a curve rises over all, and how sure that is.
 *
 * The slope is the median of the slopes between all pairs of points (Theil and Sen), so that a start that climbs, or a
 * peak, does not pass for a leak as it would in a least-squares line. The interval is Sen's, from the variance
 * of Kendall's S, widened for values that depend on those before them, as memory's always do. Long curves are first
 * averaged over equal pieces of time.
 */
#ifndef SONDE_ANALYSE_TREND_H
#define SONDE_ANALYSE_TREND_H

#include <stdbool.h>
#include <stdint.h>

struct chart_point;
struct err;

struct trend {
    bool found;                  /* there are points enough */
    double per_second;           /* the slope */
    double low, high;            /* where the true one is, with 95 % confidence */
    double from_s, to_s;         /* the time that it was taken over */
    double from_value, to_value; /* the line's ends */
};

int trend_fit(const struct chart_point *points, uint32_t count, struct trend *trend, struct err *err);

#endif
