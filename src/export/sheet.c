#include "export/sheet.h"

#include <stdlib.h>
#include <string.h>

#include "export/dot_text.h"
#include "export/letters.h"

#define TEXT_CHARACTERS_MAX 400

void sheet_clear(struct sheet *sheet)
{
    free(sheet->shapes);
    free(sheet->points);
    bytes_clear(&sheet->texts);
    *sheet = (struct sheet){0};
}

/* Room for `extra` more rows; NULL when there is none. */
static void *reserve(void *rows, uint32_t count, uint32_t *capacity, size_t extra, size_t size)
{
    if (extra <= *capacity - count)
        return rows;
    size_t wanted = ((size_t)count + extra) * 2;
    void *larger = wanted < UINT32_MAX ? realloc(rows, wanted * size) : NULL;
    if (larger)
        *capacity = (uint32_t)wanted;
    return larger;
}

static bool add_points(struct sheet *sheet, const struct sheet_point *points, size_t count)
{
    void *rows =
        reserve(sheet->points, sheet->point_count, &sheet->point_capacity, count, sizeof *sheet->points);
    if (!rows)
        return false;
    sheet->points = rows;
    memcpy(sheet->points + sheet->point_count, points, count * sizeof *points);
    sheet->point_count += (uint32_t)count;
    return true;
}

static void add(struct sheet *sheet, struct sheet_shape shape, const struct sheet_point *points, size_t count)
{
    void *rows = reserve(sheet->shapes, sheet->shape_count, &sheet->shape_capacity, 1, sizeof *sheet->shapes);
    if (rows)
        sheet->shapes = rows;
    shape.first_point = sheet->point_count;
    shape.point_count = (uint32_t)count;
    shape.title = sheet->title;
    if (!rows || !add_points(sheet, points, count) || sheet->texts.failed) {
        sheet->failed = true;
        return;
    }
    sheet->shapes[sheet->shape_count++] = shape;
}

void sheet_line(struct sheet *sheet, struct sheet_pen pen, const struct sheet_point *points, size_t count)
{
    if (count)
        add(sheet, (struct sheet_shape){.kind = SHEET_LINE, .pen = pen}, points, count);
}

void sheet_segment(struct sheet *sheet, struct sheet_pen pen, double x, double y, double to_x, double to_y)
{
    sheet_line(sheet, pen, (struct sheet_point[]){{x, y}, {to_x, to_y}}, 2);
}

void sheet_area(struct sheet *sheet, uint32_t color, double opacity, const struct sheet_point *points,
                size_t count)
{
    struct sheet_pen pen = {.color = color, .opacity = opacity};
    if (count > 2)
        add(sheet, (struct sheet_shape){.kind = SHEET_AREA, .pen = pen}, points, count);
}

void sheet_box(struct sheet *sheet, uint32_t color, double opacity, double x, double y, double width,
               double height)
{
    const struct sheet_point corners[] = {{x, y}, {x + width, y}, {x + width, y + height}, {x, y + height}};
    sheet_area(sheet, color, opacity, corners, 4);
}

/* ---- texts ---- */

/* Offset 0 stands for none. */
static size_t keep_text(struct sheet *sheet, const char *text)
{
    if (!sheet->texts.size)
        bytes_put_u8(&sheet->texts, 0);
    size_t offset = sheet->texts.size;
    dot_text_put_visible(&sheet->texts, text, TEXT_CHARACTERS_MAX);
    bytes_put_u8(&sheet->texts, 0);
    return offset;
}

static void put_kept(struct sheet *sheet, struct sheet_font font, double x, double y, size_t offset)
{
    add(sheet, (struct sheet_shape){.kind = SHEET_TEXT, .font = font, .text = offset},
        &(struct sheet_point){x, y}, 1);
}

void sheet_text(struct sheet *sheet, struct sheet_font font, double x, double y, const char *text)
{
    put_kept(sheet, font, x, y, keep_text(sheet, text));
}

void sheet_text_fit(struct sheet *sheet, struct sheet_font font, double x, double y, double width,
                    const char *text)
{
    size_t offset = keep_text(sheet, text);
    if (sheet->texts.failed || letters_width(sheet_string(sheet, offset), font.size) <= width) {
        put_kept(sheet, font, x, y, offset);
        return;
    }
    const char *kept = sheet_string(sheet, offset), *end = kept;
    double used = letters_width("…", font.size), room = width - used;
    for (const char *at = kept; *at;) {
        room -= letters_advance(letters_next(&at)) * font.size / LETTERS_EM;
        if (room < 0)
            break;
        end = at;
    }
    sheet->texts.size = offset + (size_t)(end - kept);
    if (end == kept)
        return;
    bytes_put(&sheet->texts, "…", sizeof "…");
    put_kept(sheet, font, x, y, offset);
}

void sheet_name(struct sheet *sheet, const char *title)
{
    sheet->title = title ? keep_text(sheet, title) : 0;
}
