/*
 * chart_sheet: a chart laid out on a sheet: title, panels with their axes and curves, peaks marked, slopes, brackets or
 * lanes of functions, and below a legend that says in words what the curves show.
 */
#ifndef SONDE_EXPORT_CHART_SHEET_H
#define SONDE_EXPORT_CHART_SHEET_H

#include <stdbool.h>

struct chart;
struct err;
struct sheet;

struct chart_style {
    const char *title;
    bool dark;
    bool flame;           /* functions as nested rectangles below the curves, not as brackets on them */
    double width, height; /* CSS pixels; a legend that is long makes it higher */
};

/* How many marks a time axis of that picture has room for. */
unsigned chart_sheet_time_marks(const struct chart_style *style);
/* Into an empty sheet. */
int chart_sheet_draw(const struct chart *chart, const struct chart_style *style, struct sheet *sheet,
                     struct err *err);

#endif
