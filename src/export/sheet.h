/*
 * sheet: a drawing before it is a file: lines, filled areas and texts, in the order in which they cover one another.
 * svg_writer, png_writer and pdf_writer each make a file of it.
 *
 * Units are CSS pixels (1/96 inch), the origin is at the top left. Coordinates are finite. Texts may hold any bytes: what
 * is no UTF-8 and control characters are made visible when they are put. Widths of texts are those of Helvetica,
 * whose widths Arial, Liberation Sans and the letters of png_writer share. Failure (no memory) is sticky; look at
 * `failed` in the end. A zeroed struct with a size is an empty sheet, which owns its arrays.
 */
#ifndef SONDE_EXPORT_SHEET_H
#define SONDE_EXPORT_SHEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

struct sheet_point {
    double x, y;
};

struct sheet_pen {
    uint32_t color; /* 0xRRGGBB */
    double width;
    double opacity;   /* 0..1 */
    double dash, gap; /* lengths; 0 = drawn through */
};

enum sheet_anchor { SHEET_START, SHEET_MIDDLE, SHEET_END }; /* which part of a text its point is at */

struct sheet_font {
    uint32_t color;
    double size;
    bool bold;
    enum sheet_anchor anchor;
};

enum sheet_kind { SHEET_LINE, SHEET_AREA, SHEET_TEXT };

struct sheet_shape {
    enum sheet_kind kind;
    struct sheet_pen pen;   /* of an area: color and opacity */
    struct sheet_font font; /* of a text, at its one point */
    uint32_t first_point, point_count;
    size_t text;  /* offset in texts, NUL-ended */
    size_t title; /* the same, shown where the mouse is, where a format can; 0 = none */
};

struct sheet {
    double width, height;
    uint32_t background;
    struct sheet_shape *shapes;
    uint32_t shape_count, shape_capacity;
    struct sheet_point *points;
    uint32_t point_count, point_capacity;
    struct bytes texts;
    size_t title; /* of what is drawn next */
    bool failed;
};

void sheet_clear(struct sheet *sheet);

/* Round ends and corners. */
void sheet_line(struct sheet *sheet, struct sheet_pen pen, const struct sheet_point *points, size_t count);
void sheet_segment(struct sheet *sheet, struct sheet_pen pen, double x, double y, double to_x, double to_y);
/* Closed of itself. */
void sheet_area(struct sheet *sheet, uint32_t color, double opacity, const struct sheet_point *points,
                size_t count);
void sheet_box(struct sheet *sheet, uint32_t color, double opacity, double x, double y, double width,
               double height);
/* y is that of the line that letters stand on. */
void sheet_text(struct sheet *sheet, struct sheet_font font, double x, double y, const char *text);
/* As sheet_text; what does not fit the width ends in an ellipsis. Nothing, if not even that fits. */
void sheet_text_fit(struct sheet *sheet, struct sheet_font font, double x, double y, double width,
                    const char *text);
/* What the shapes put from now on are about; NULL ends it. */
void sheet_name(struct sheet *sheet, const char *title);

static inline const char *sheet_string(const struct sheet *sheet, size_t offset)
{
    return (const char *)sheet->texts.data + offset;
}
static inline const struct sheet_point *sheet_points(const struct sheet *sheet,
                                                     const struct sheet_shape *shape)
{
    return sheet->points + shape->first_point;
}

#endif
