/*
 * axis: the marks of an axis: round steps over a range, and what is written beside them. All marks of one axis
 * have one unit ("200 MiB", "1.5 min"), chosen by the range. Values are finite.
 */
#ifndef SONDE_ANALYSE_AXIS_H
#define SONDE_ANALYSE_AXIS_H

#include "base/quantity.h"

enum axis_kind {
    AXIS_NUMBER,  /* plain numbers; thousands and more get SI letters */
    AXIS_BYTES,   /* KiB, MiB, ... */
    AXIS_SECONDS, /* ns to days */
};

struct axis {
    double low, high;
    double step; /* marks are at its multiples */
    enum axis_kind kind;
    const char *suffix; /* the unit, with a space before it where there is one */
    double scale;       /* of the unit, in the axis's values */
    int decimals;
};

/* At most `marks` marks, at least one. An empty range is given some width. */
void axis_make(struct axis *axis, enum axis_kind kind, double low, double high, unsigned marks);
/* The same, the range widened to marks at both ends. */
void axis_make_wide(struct axis *axis, enum axis_kind kind, double low, double high, unsigned marks);

/* The first mark at or above the low end; the next ones are `step` apart, up to the high end. */
double axis_first(const struct axis *axis);
unsigned axis_count(const struct axis *axis);
struct quantity axis_text(const struct axis *axis, double value);
/* 0 at the low end, 1 at the high one. */
double axis_share(const struct axis *axis, double value);

/* One value with three digits and its own unit. */
struct quantity axis_value_text(enum axis_kind kind, double value);

#endif
