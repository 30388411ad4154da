/*
 * chart_look: the colours of a chart, and where on the sheet its values lie.
 *
 * The colours of curves differ for everybody, also with red or green missing, and have at least three times the
 * background's luminance contrast; their order is that of use.
 */
#ifndef SONDE_EXPORT_CHART_LOOK_H
#define SONDE_EXPORT_CHART_LOOK_H

#include <stdbool.h>
#include <stdint.h>

struct chart;
struct chart_panel;
struct sheet;

#define CHART_LOOK_COLORS 6

struct chart_look {
    uint32_t background, ink, soft, grid, peak;
    uint32_t colors[CHART_LOOK_COLORS];
};

/* What all parts of a chart need to draw themselves. */
struct chart_frame {
    struct sheet *sheet;
    const struct chart *chart;
    const struct chart_look *look;
    bool flame;
    double left, right; /* of the panels */
};

/* One panel's place. */
struct chart_panel_box {
    const struct chart_panel *panel;
    uint32_t at; /* its number */
    double top, bottom;
};

const struct chart_look *chart_look_find(bool dark);
double chart_look_x(const struct chart_frame *frame, double time_s);
double chart_look_y(const struct chart_panel_box *box, double value);

#endif
