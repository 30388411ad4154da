/*
 * raster: pixels to draw on, with smooth edges.
 *
 * A line covers a pixel by how near the pixel's middle is to it, counted once wherever a line's pieces meet, so that
 * corners and joints are no darker than the rest. An area covers it by its share, taken along eight
 * lines across the pixel. Whatever lies outside is cut off. A zeroed struct is a picture without pixels.
 */
#ifndef SONDE_EXPORT_RASTER_H
#define SONDE_EXPORT_RASTER_H

#include <stdint.h>

struct err;
struct sheet_point;

struct raster {
    uint32_t width, height;
    uint8_t *pixels; /* red, green, blue; row by row */
    float *cover;    /* of the shape being drawn; all zero between shapes, with one more in each row */
    uint32_t left, top, right, bottom; /* what of `cover` may not be zero */
};

int raster_init(struct raster *raster, uint32_t width, uint32_t height, uint32_t background, struct err *err);
void raster_clear(struct raster *raster);

/* Coordinates in pixels. A shape is begun by any number of strokes or of areas, and then painted. */
void raster_stroke(struct raster *raster, const struct sheet_point *points, uint32_t count, double width);
void raster_area(struct raster *raster, const struct sheet_point *points, uint32_t count);
void raster_paint(struct raster *raster, uint32_t color, double opacity);

#endif
