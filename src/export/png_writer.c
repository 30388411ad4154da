#include "export/png_writer.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "export/deflated.h"
#include "export/dot_text.h"
#include "export/letters.h"
#include "export/raster.h"
#include "export/sheet.h"

#define TITLE_CHARACTERS_MAX 400
#define METRE_PIXELS         (96 / 0.0254) /* of a sheet */

/* ---- drawing ---- */

struct drawer {
    struct raster raster;
    const struct sheet *sheet;
    double scale;
    struct sheet_point *scaled; /* room for the largest shape */
};

static void draw_dashes(struct drawer *drawer, const struct sheet_pen *pen, uint32_t count)
{
    double width = pen->width * drawer->scale, left = pen->dash * drawer->scale;
    bool on = true;
    for (uint32_t i = 0; i + 1 < count; i++) {
        struct sheet_point from = drawer->scaled[i], to = drawer->scaled[i + 1];
        double length = hypot(to.x - from.x, to.y - from.y);
        for (double at = 0; at < length;) {
            double end = fmin(at + left, length);
            struct sheet_point piece[2] = {
                {from.x + (to.x - from.x) * at / length, from.y + (to.y - from.y) * at / length},
                {from.x + (to.x - from.x) * end / length, from.y + (to.y - from.y) * end / length}};
            if (on)
                raster_stroke(&drawer->raster, piece, 2, width);
            left -= end - at;
            at = end;
            if (left <= 1e-9) {
                on = !on;
                left = (on ? pen->dash : pen->gap) * drawer->scale;
            }
        }
    }
}

static void draw_path(struct drawer *drawer, const struct sheet_shape *shape)
{
    const struct sheet_point *points = sheet_points(drawer->sheet, shape);
    for (uint32_t i = 0; i < shape->point_count; i++)
        drawer->scaled[i] = (struct sheet_point){points[i].x * drawer->scale, points[i].y * drawer->scale};
    if (shape->kind == SHEET_AREA)
        raster_area(&drawer->raster, drawer->scaled, shape->point_count);
    else if (shape->pen.dash > 0 && shape->pen.gap > 0)
        draw_dashes(drawer, &shape->pen, shape->point_count);
    else
        raster_stroke(&drawer->raster, drawer->scaled, shape->point_count, shape->pen.width * drawer->scale);
    raster_paint(&drawer->raster, shape->pen.color, shape->pen.opacity);
}

/* Where the letter being drawn stands. */
struct writing {
    struct raster *raster;
    double x, y, unit, pen;
};

static void draw_stroke(void *context, const struct sheet_point *points, uint32_t count)
{
    const struct writing *writing = context;
    struct sheet_point placed[LETTERS_POINTS_MAX];
    for (uint32_t i = 0; i < count; i++)
        placed[i] = (struct sheet_point){writing->x + points[i].x * writing->unit,
                                         writing->y - points[i].y * writing->unit};
    raster_stroke(writing->raster, placed, count, writing->pen);
}

static void draw_text(struct drawer *drawer, const struct sheet_shape *shape)
{
    const struct sheet_point *at = sheet_points(drawer->sheet, shape);
    const char *text = sheet_string(drawer->sheet, shape->text);
    double size = shape->font.size * drawer->scale, width = letters_width(text, size);
    double left = shape->font.anchor == SHEET_START ? 0 : shape->font.anchor == SHEET_END ? width : width / 2;
    struct writing writing = {.raster = &drawer->raster,
                              .x = at->x * drawer->scale - left,
                              .y = at->y * drawer->scale,
                              .unit = size / LETTERS_EM,
                              .pen = size / LETTERS_EM * (shape->font.bold ? LETTERS_BOLD : LETTERS_PEN)};
    while (*text) {
        uint32_t character = letters_next(&text);
        letters_draw(character, draw_stroke, &writing);
        writing.x += letters_advance(character) * writing.unit;
    }
    raster_paint(&drawer->raster, shape->font.color, 1);
}

static int draw(struct drawer *drawer, struct err *err)
{
    const struct sheet *sheet = drawer->sheet;
    uint32_t most = 1;
    for (uint32_t i = 0; i < sheet->shape_count; i++)
        most = sheet->shapes[i].point_count > most ? sheet->shapes[i].point_count : most;
    drawer->scaled = malloc(most * sizeof *drawer->scaled);
    if (!drawer->scaled)
        return err_set(err, "out of memory for the picture");
    for (uint32_t i = 0; i < sheet->shape_count; i++) {
        if (sheet->shapes[i].kind == SHEET_TEXT)
            draw_text(drawer, &sheet->shapes[i]);
        else
            draw_path(drawer, &sheet->shapes[i]);
    }
    free(drawer->scaled);
    return 0;
}

/* ---- the file ---- */

static void put_big_endian(struct bytes *out, uint32_t value)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        bytes_put_u8(out, (uint8_t)(value >> shift));
}

static void put_chunk(struct bytes *out, const char *name, const struct bytes *body)
{
    put_big_endian(out, (uint32_t)body->size);
    bytes_put(out, name, 4);
    bytes_put(out, body->data, body->size);
    put_big_endian(out, deflated_checksum(deflated_checksum(0, name, 4), body->data, body->size));
    out->failed |= body->failed;
}

static void put_header(struct bytes *out, const struct raster *raster)
{
    struct bytes body = {0};
    put_big_endian(&body, raster->width);
    put_big_endian(&body, raster->height);
    bytes_put(&body, "\x08\x02\0\0\0", 5); /* eight bits of red, green and blue; not interlaced */
    put_chunk(out, "IHDR", &body);
    bytes_clear(&body);
}

static void put_density(struct bytes *out, double scale)
{
    struct bytes body = {0};
    put_big_endian(&body, (uint32_t)(METRE_PIXELS * scale + 0.5));
    put_big_endian(&body, (uint32_t)(METRE_PIXELS * scale + 0.5));
    bytes_put_u8(&body, 1); /* per metre */
    put_chunk(out, "pHYs", &body);
    bytes_clear(&body);
}

static void put_title(struct bytes *out, const char *title)
{
    struct bytes body = {0};
    bytes_put(&body, "Title\0\0\0\0\0", 10); /* not compressed, in no language */
    dot_text_put_visible(&body, title, TITLE_CHARACTERS_MAX);
    put_chunk(out, "iTXt", &body);
    bytes_clear(&body);
}

/* As they are: of drawings that packs better than differences to the row above or the pixel before. */
static void put_pixels(struct bytes *out, const struct raster *raster)
{
    struct bytes rows = {0}, packed = {0};
    size_t size = (size_t)raster->width * 3;
    bytes_reserve(&rows, (size + 1) * raster->height);
    for (uint32_t y = 0; y < raster->height; y++) {
        bytes_put_u8(&rows, 0);
        bytes_put(&rows, raster->pixels + y * size, size);
    }
    deflated_put(&packed, rows.data, rows.size);
    packed.failed |= rows.failed;
    put_chunk(out, "IDAT", &packed);
    bytes_clear(&rows);
    bytes_clear(&packed);
}

int png_writer_write(const struct sheet *sheet, double scale, const char *title, struct bytes *out,
                     struct err *err)
{
    struct drawer drawer = {.sheet = sheet, .scale = scale};
    if (raster_init(&drawer.raster, (uint32_t)ceil(sheet->width * scale),
                    (uint32_t)ceil(sheet->height * scale), sheet->background, err) != 0)
        return -1;
    int result = draw(&drawer, err);
    if (result == 0) {
        bytes_put(out, "\x89PNG\r\n\x1a\n", 8);
        put_header(out, &drawer.raster);
        put_density(out, scale);
        put_title(out, title);
        put_pixels(out, &drawer.raster);
        put_chunk(out, "IEND", &(struct bytes){0});
    }
    raster_clear(&drawer.raster);
    if (result == 0 && (sheet->failed || out->failed))
        return err_set(err, "out of memory for the picture");
    return result;
}
