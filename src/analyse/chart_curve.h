/* chart_curve: the points of one curve: made from a counter's series, cut to a window, thinned for a picture. */
#ifndef SONDE_ANALYSE_CHART_CURVE_H
#define SONDE_ANALYSE_CHART_CURVE_H

#include <stdint.h>

struct chart_curve;
struct chart_point;
struct err;
struct series;

/* Of a level: its values; of a sum: its rate between any two. Times are counted from `origin_ns`. */
int chart_curve_fill(struct chart_curve *curve, const struct series *series, uint64_t origin_ns, double scale,
                     struct err *err);

/* The first point at or after that time; the number of points when there is none. */
uint32_t chart_curve_first_at(const struct chart_curve *curve, double time_s);

/* Keeps what lies in the window, with points on the line where it enters and leaves; finds the peak. */
int chart_curve_cut(struct chart_curve *curve, double from_s, double to_s, struct err *err);

/* A new array that the caller frees; see chart_thin. */
struct chart_point *chart_curve_thin(const struct chart_curve *curve, double from_s, double to_s,
                                     unsigned columns, uint32_t *count, struct err *err);

#endif
