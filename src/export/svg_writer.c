#include "export/svg_writer.h"

#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "export/dot_text.h"
#include "export/sheet.h"
#include "export/xml_text.h"

#define TITLE_CHARACTERS_MAX 400

static void put_string(struct bytes *out, const char *text)
{
    xml_text_put(out, text, strlen(text));
}

/* To a hundredth of a pixel, without zeros that say nothing. */
static void put_number(struct bytes *out, double number)
{
    char text[64];
    int size = snprintf(text, sizeof text, "%.2f", number);
    while (text[size - 1] == '0')
        size--;
    size -= text[size - 1] == '.';
    bytes_put(out, text, (size_t)size);
}

static void put_attribute(struct bytes *out, const char *name, double number)
{
    bytes_putf(out, " %s=\"", name);
    put_number(out, number);
    bytes_put_u8(out, '"');
}

static void put_path(struct bytes *out, const struct sheet *sheet, const struct sheet_shape *shape)
{
    const struct sheet_point *points = sheet_points(sheet, shape);
    bytes_put_text(out, "<path d=\"");
    for (uint32_t i = 0; i < shape->point_count; i++) {
        bytes_put_u8(out, i == 0 ? 'M' : i == 1 ? 'L' : ' ');
        put_number(out, points[i].x);
        bytes_put_u8(out, ' ');
        put_number(out, points[i].y);
    }
    if (shape->point_count == 1)
        bytes_put_text(out, "h0"); /* a dot */
    if (shape->kind == SHEET_AREA)
        bytes_put_u8(out, 'Z');
    bytes_put_u8(out, '"');
}

static void put_line(struct bytes *out, const struct sheet *sheet, const struct sheet_shape *shape)
{
    put_path(out, sheet, shape);
    bytes_putf(out, " fill=\"none\" stroke=\"#%06x\"", shape->pen.color);
    put_attribute(out, "stroke-width", shape->pen.width);
    if (shape->pen.opacity < 1)
        put_attribute(out, "stroke-opacity", shape->pen.opacity);
    if (shape->pen.dash > 0)
        bytes_putf(out, " stroke-dasharray=\"%.2g %.2g\"", shape->pen.dash, shape->pen.gap);
}

static void put_area(struct bytes *out, const struct sheet *sheet, const struct sheet_shape *shape)
{
    put_path(out, sheet, shape);
    bytes_putf(out, " fill=\"#%06x\"", shape->pen.color);
    if (shape->pen.opacity < 1)
        put_attribute(out, "fill-opacity", shape->pen.opacity);
}

static void put_text(struct bytes *out, const struct sheet *sheet, const struct sheet_shape *shape)
{
    static const char *const anchors[] = {"start", "middle", "end"};
    const struct sheet_point *at = sheet_points(sheet, shape);
    bytes_put_text(out, "<text");
    put_attribute(out, "x", at->x);
    put_attribute(out, "y", at->y);
    put_attribute(out, "font-size", shape->font.size);
    bytes_putf(out, " fill=\"#%06x\"", shape->font.color);
    if (shape->font.anchor != SHEET_START)
        bytes_putf(out, " text-anchor=\"%s\"", anchors[shape->font.anchor]);
    if (shape->font.bold)
        bytes_put_text(out, " font-weight=\"bold\"");
}

static void put_shape(struct bytes *out, const struct sheet *sheet, const struct sheet_shape *shape)
{
    static const char *const ends[] = {"</path>\n", "</path>\n", "</text>\n"};
    if (shape->kind == SHEET_LINE)
        put_line(out, sheet, shape);
    else if (shape->kind == SHEET_AREA)
        put_area(out, sheet, shape);
    else
        put_text(out, sheet, shape);
    bytes_put_u8(out, '>');
    if (shape->title) {
        bytes_put_text(out, "<title>");
        put_string(out, sheet_string(sheet, shape->title));
        bytes_put_text(out, "</title>");
    }
    if (shape->kind == SHEET_TEXT)
        put_string(out, sheet_string(sheet, shape->text));
    bytes_put_text(out, ends[shape->kind]);
}

static void put_title(struct bytes *out, const char *title)
{
    struct bytes visible = {0};
    dot_text_put_visible(&visible, title, TITLE_CHARACTERS_MAX);
    bytes_put_text(out, "<title>");
    xml_text_put(out, (const char *)visible.data, visible.size);
    bytes_put_text(out, "</title>\n");
    out->failed |= visible.failed;
    bytes_clear(&visible);
}

int svg_writer_write(const struct sheet *sheet, const char *title, struct bytes *out, struct err *err)
{
    bytes_put_text(out,
                   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\"");
    put_attribute(out, "width", sheet->width);
    put_attribute(out, "height", sheet->height);
    bytes_putf(out, " viewBox=\"0 0 %g %g\" role=\"img\" stroke-linecap=\"round\" stroke-linejoin=\"round\" ",
               sheet->width, sheet->height);
    bytes_put_text(out, "font-family=\"Helvetica, Arial, 'Liberation Sans', sans-serif\" "
                        "style=\"font-variant-numeric: tabular-nums\">\n");
    put_title(out, title);
    bytes_putf(out, "<rect width=\"100%%\" height=\"100%%\" fill=\"#%06x\"/>\n", sheet->background);
    for (uint32_t i = 0; i < sheet->shape_count; i++)
        put_shape(out, sheet, &sheet->shapes[i]);
    bytes_put_text(out, "</svg>\n");
    return sheet->failed || out->failed ? err_set(err, "out of memory for the picture") : 0;
}
