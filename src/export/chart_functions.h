/* chart_functions: the functions of a chart: as brackets around what they did to a curve, or as lanes of nested
 * rectangles below. */
#ifndef SONDE_EXPORT_CHART_FUNCTIONS_H
#define SONDE_EXPORT_CHART_FUNCTIONS_H

#include <stdint.h>

#include "export/chart_look.h"

uint32_t chart_functions_color(const struct chart_frame *frame, uint32_t function);
/* On the first curve of each file, where it is in this panel. */
void chart_functions_put_brackets(struct chart_frame *frame, const struct chart_panel_box *box);

double chart_functions_lanes_height(const struct chart *chart);
void chart_functions_put_lanes(struct chart_frame *frame, double top);

#endif
