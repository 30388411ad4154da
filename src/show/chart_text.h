/*
 * chart_text: a chart drawn with characters: dots of Braille letters where the terminal has them, else one sign for each
 * cell. Several curves are told apart by colour, or without colours by their signs.
 */
#ifndef SONDE_SHOW_CHART_TEXT_H
#define SONDE_SHOW_CHART_TEXT_H

#include <stdbool.h>

struct bytes;
struct chart;
struct err;

struct chart_text_style {
    const char *title;
    unsigned columns;
    unsigned rows; /* of all panels together */
    bool ascii, color;
};

/* How many marks the time axis has room for. */
unsigned chart_text_time_marks(unsigned columns);
int chart_text_put(const struct chart *chart, const struct chart_text_style *style, struct bytes *out,
                   struct err *err);

#endif
