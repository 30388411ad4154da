#include "export/raster.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "export/sheet.h"

#define LINES_ACROSS 8 /* of a pixel, for areas */

int raster_init(struct raster *raster, uint32_t width, uint32_t height, uint32_t background, struct err *err)
{
    size_t pixels = (size_t)width * height;
    *raster = (struct raster){.width = width, .height = height, .left = width, .top = height};
    raster->pixels = malloc(pixels * 3 + 1);
    raster->cover = calloc(((size_t)width + 1) * height + 1, sizeof *raster->cover);
    if (!raster->pixels || !raster->cover) {
        raster_clear(raster);
        return err_set(err, "out of memory for a picture of %u by %u pixels", width, height);
    }
    for (size_t i = 0; i < pixels; i++) {
        raster->pixels[3 * i] = (uint8_t)(background >> 16);
        raster->pixels[3 * i + 1] = (uint8_t)(background >> 8);
        raster->pixels[3 * i + 2] = (uint8_t)background;
    }
    return 0;
}

void raster_clear(struct raster *raster)
{
    free(raster->pixels);
    free(raster->cover);
    *raster = (struct raster){0};
}

static float *row_of(struct raster *raster, uint32_t y)
{
    return raster->cover + (size_t)y * (raster->width + 1);
}

/* A coordinate as the number of a pixel, at most `end`. */
static uint32_t clamp(double coordinate, uint32_t end)
{
    return coordinate <= 0 ? 0 : coordinate >= end ? end : (uint32_t)coordinate;
}

static void touch(struct raster *raster, uint32_t left, uint32_t top, uint32_t right, uint32_t bottom)
{
    raster->left = left < raster->left ? left : raster->left;
    raster->top = top < raster->top ? top : raster->top;
    raster->right = right > raster->right ? right : raster->right;
    raster->bottom = bottom > raster->bottom ? bottom : raster->bottom;
}

/* ---- lines ---- */

struct segment {
    struct sheet_point from, to;
    double dx, dy, squared; /* its length */
};

static double distance(const struct segment *segment, double x, double y)
{
    double part = 0;
    if (segment->squared > 0)
        part = ((x - segment->from.x) * segment->dx + (y - segment->from.y) * segment->dy) / segment->squared;
    part = part < 0 ? 0 : part > 1 ? 1 : part;
    return hypot(x - segment->from.x - part * segment->dx, y - segment->from.y - part * segment->dy);
}

/* Where the part of the segment lies that is within `reach` of the row; false: nowhere. */
static bool extent(const struct segment *segment, double y, double reach, double *left, double *right)
{
    double from = 0, to = 1;
    if (fabs(segment->dy) > 1e-12) {
        double one = (y - reach - segment->from.y) / segment->dy;
        double other = (y + reach - segment->from.y) / segment->dy;
        from = fmax(fmin(one, other), 0);
        to = fmin(fmax(one, other), 1);
    }
    if (from > to)
        return false;
    double start = segment->from.x + from * segment->dx, end = segment->from.x + to * segment->dx;
    *left = fmin(start, end) - reach;
    *right = fmax(start, end) + reach;
    return true;
}

static void stroke_segment(struct raster *raster, const struct segment *segment, double width)
{
    double half = width / 2, reach = half + 1;
    uint32_t top = clamp(fmin(segment->from.y, segment->to.y) - reach, raster->height);
    uint32_t bottom = clamp(fmax(segment->from.y, segment->to.y) + reach + 1, raster->height);
    for (uint32_t y = top; y < bottom; y++) {
        double left, right;
        if (!extent(segment, y + 0.5, reach, &left, &right))
            continue;
        uint32_t first = clamp(left, raster->width), end = clamp(right + 1, raster->width);
        float *row = row_of(raster, y);
        for (uint32_t x = first; x < end; x++) {
            double cover = half + 0.5 - distance(segment, x + 0.5, y + 0.5);
            cover = fmin(cover, fmin(width, 1)); /* thinner than a pixel: fainter */
            if (cover > row[x])
                row[x] = (float)cover;
        }
        touch(raster, first, y, end, y + 1);
    }
}

void raster_stroke(struct raster *raster, const struct sheet_point *points, uint32_t count, double width)
{
    for (uint32_t i = 0; i < count; i++) {
        if (i + 1 == count && count > 1)
            break;
        struct segment segment = {.from = points[i], .to = points[count > 1 ? i + 1 : i]};
        segment.dx = segment.to.x - segment.from.x;
        segment.dy = segment.to.y - segment.from.y;
        segment.squared = segment.dx * segment.dx + segment.dy * segment.dy;
        stroke_segment(raster, &segment, width);
    }
}

/* ---- areas ---- */

/* Everything to the right of the edge on one of the lines across: what begins inside a pixel covers the rest of it. */
static void cross(struct raster *raster, uint32_t y, double x, double amount)
{
    float *row = row_of(raster, y);
    double inside = x <= 0 ? 0 : x >= raster->width ? raster->width : x;
    uint32_t at = clamp(inside, raster->width);
    double part = inside - at;
    row[at] += (float)(amount * (1 - part));
    if (at < raster->width)
        row[at + 1] += (float)(amount * part);
}

static void add_edge(struct raster *raster, struct sheet_point from, struct sheet_point to)
{
    double amount = 1.0 / LINES_ACROSS;
    if (from.y > to.y) {
        struct sheet_point swapped = from;
        from = to;
        to = swapped;
        amount = -amount;
    }
    double slope = (to.x - from.x) / (to.y - from.y);
    double first = ceil(fmax(from.y, 0) * LINES_ACROSS - 0.5);
    double end = ceil(fmin(to.y, raster->height) * LINES_ACROSS - 0.5);
    for (double line = first; line < end; line++) {
        double y = (line + 0.5) / LINES_ACROSS;
        cross(raster, (uint32_t)(line / LINES_ACROSS), from.x + (y - from.y) * slope, amount);
    }
}

/* From changes along each row to cover. */
static void sum_rows(struct raster *raster, uint32_t top, uint32_t bottom)
{
    for (uint32_t y = top; y < bottom; y++) {
        float *row = row_of(raster, y), sum = 0;
        for (uint32_t x = 0; x <= raster->width; x++) {
            sum += row[x];
            row[x] = fminf(fabsf(sum), 1);
        }
    }
    touch(raster, 0, top, raster->width, bottom);
}

void raster_area(struct raster *raster, const struct sheet_point *points, uint32_t count)
{
    double low = INFINITY, high = -INFINITY;
    for (uint32_t i = 0; i < count; i++) {
        struct sheet_point from = points[i], to = points[(i + 1) % count];
        if (from.y != to.y)
            add_edge(raster, from, to);
        low = fmin(low, from.y);
        high = fmax(high, from.y);
    }
    if (low < high)
        sum_rows(raster, clamp(low, raster->height), clamp(high + 1, raster->height));
}

/* ---- paint ---- */

static void blend(uint8_t *channel, uint32_t color, double cover)
{
    *channel = (uint8_t)(*channel + ((double)(color & 255) - *channel) * cover + 0.5);
}

void raster_paint(struct raster *raster, uint32_t color, double opacity)
{
    for (uint32_t y = raster->top; y < raster->bottom; y++) {
        float *row = row_of(raster, y);
        uint8_t *pixel = raster->pixels + ((size_t)y * raster->width + raster->left) * 3;
        for (uint32_t x = raster->left; x < raster->right; x++, pixel += 3) {
            if (row[x] <= 0)
                continue;
            blend(&pixel[0], color >> 16, row[x] * opacity);
            blend(&pixel[1], color >> 8, row[x] * opacity);
            blend(&pixel[2], color, row[x] * opacity);
        }
        memset(row + raster->left, 0, (raster->right - raster->left + 1) * sizeof *row);
    }
    raster->left = raster->width;
    raster->top = raster->height;
    raster->right = raster->bottom = 0;
}
