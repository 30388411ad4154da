/*
 * heat: what a share of time looks like: colours, type sizes and line widths, from cold (0) to hot (1).
 *
 * Text stays readable on every colour: on a filled box it is black or white, whichever contrasts more; a
 * coloured word on the white page is darkened until it does.
 */
#ifndef SONDE_EXPORT_HEAT_H
#define SONDE_EXPORT_HEAT_H

#include <stdbool.h>
#include <stdint.h>

struct heat_hsl {
    double hue, saturation, lightness; /* all 0..1 */
};

struct heat_theme {
    const char *name; /* NULL ends the table */
    struct heat_hsl cold, hot;
    bool filled; /* boxes are filled, not outlined */
    double small_points, large_points;
    double thin_pen, thick_pen;
};

extern const struct heat_theme heat_themes[];
/* NULL when there is none of that name. */
const struct heat_theme *heat_find(const char *name);

/* 0xRRGGBB. Skew below 1 spreads the low shares over more colours, above 1 the high ones. */
uint32_t heat_color(const struct heat_theme *theme, double skew, double weight);
uint32_t heat_text_on(uint32_t background);
uint32_t heat_text_like(uint32_t color);

double heat_points(const struct heat_theme *theme, double weight);
double heat_pen(const struct heat_theme *theme, double weight);

#endif
