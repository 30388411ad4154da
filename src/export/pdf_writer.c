#include "export/pdf_writer.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/bytes.h"
#include "base/err.h"
#include "export/deflated.h"
#include "export/dot_text.h"
#include "export/letters.h"
#include "export/sheet.h"

#define POINTS_PER_PIXEL     0.75
#define TITLE_CHARACTERS_MAX 400

/* Object numbers. */
enum { CATALOG = 1, PAGES, PAGE, CONTENT, REGULAR, BOLD, STATES, INFORMATION, OBJECTS };

/* Opacities are named: /O0 to /O20 are twentieths. */
#define OPACITIES 20

/* ---- the page's content ---- */

static void put_number(struct bytes *out, double number)
{
    bytes_putf(out, "%.2f ", number);
}

static void put_color(struct bytes *out, uint32_t color, const char *operator)
{
    bytes_putf(out, "%.3f %.3f %.3f %s ", (color >> 16 & 255) / 255.0, (color >> 8 & 255) / 255.0,
               (color & 255) / 255.0, operator);
}

static void put_opacity(struct bytes *out, double opacity)
{
    int step = (int)(opacity * OPACITIES + 0.5);
    bytes_putf(out, "/O%d gs ", step < 0 ? 0 : step > OPACITIES ? OPACITIES : step);
}

static void put_path(struct bytes *out, const struct sheet *sheet, const struct sheet_shape *shape)
{
    const struct sheet_point *points = sheet_points(sheet, shape);
    for (uint32_t i = 0; i < shape->point_count; i++) {
        put_number(out, points[i].x);
        put_number(out, sheet->height - points[i].y);
        bytes_put_text(out, i ? "l " : "m ");
    }
    if (shape->point_count == 1) { /* a dot */
        put_number(out, points[0].x);
        put_number(out, sheet->height - points[0].y);
        bytes_put_text(out, "l ");
    }
}

static void put_line(struct bytes *out, const struct sheet *sheet, const struct sheet_shape *shape)
{
    put_opacity(out, shape->pen.opacity);
    put_color(out, shape->pen.color, "RG");
    bytes_putf(out, "%.2f w ", shape->pen.width);
    if (shape->pen.dash > 0)
        bytes_putf(out, "[%.2f %.2f] 0 d ", shape->pen.dash, shape->pen.gap);
    else
        bytes_put_text(out, "[] 0 d ");
    put_path(out, sheet, shape);
    bytes_put_text(out, "S\n");
}

static void put_area(struct bytes *out, const struct sheet *sheet, const struct sheet_shape *shape)
{
    put_opacity(out, shape->pen.opacity);
    put_color(out, shape->pen.color, "rg");
    put_path(out, sheet, shape);
    bytes_put_text(out, "f\n");
}

/* The font's own numbers (WinAnsiEncoding) of what is not in Latin-1. */
static uint8_t encode(uint32_t character)
{
    static const struct {
        uint16_t character;
        uint8_t code;
    } others[] = {{0x20ac, 0x80}, {0x2026, 0x85}, {0x2018, 0x91}, {0x2019, 0x92}, {0x201c, 0x93},
                  {0x201d, 0x94}, {0x2022, 0x95}, {0x2013, 0x96}, {0x2014, 0x97}};
    if (character < 0x7f || (character >= 0xa0 && character <= 0xff))
        return (uint8_t)character;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i].character == character)
            return others[i].code;
    return '?';
}

static void put_text(struct bytes *out, const struct sheet *sheet, const struct sheet_shape *shape)
{
    const char *text = sheet_string(sheet, shape->text);
    const struct sheet_point *at = sheet_points(sheet, shape);
    double width = letters_width(text, shape->font.size);
    double left = shape->font.anchor == SHEET_START ? 0 : shape->font.anchor == SHEET_END ? width : width / 2;
    put_opacity(out, 1);
    put_color(out, shape->font.color, "rg");
    bytes_putf(out, "BT /%s %.2f Tf %.2f %.2f Td (", shape->font.bold ? "Bold" : "Regular", shape->font.size,
               at->x - left, sheet->height - at->y);
    while (*text) {
        uint8_t code = encode(letters_next(&text));
        if (code == '(' || code == ')' || code == '\\')
            bytes_put_u8(out, '\\');
        bytes_put_u8(out, code);
    }
    bytes_put_text(out, ") Tj ET\n");
}

static void put_content(struct bytes *out, const struct sheet *sheet)
{
    bytes_putf(out, "%.2f 0 0 %.2f 0 0 cm 1 J 1 j\n", POINTS_PER_PIXEL, POINTS_PER_PIXEL);
    put_color(out, sheet->background, "rg");
    bytes_putf(out, "0 0 %.2f %.2f re f\n", sheet->width, sheet->height);
    for (uint32_t i = 0; i < sheet->shape_count; i++) {
        const struct sheet_shape *shape = &sheet->shapes[i];
        if (shape->kind == SHEET_LINE)
            put_line(out, sheet, shape);
        else if (shape->kind == SHEET_AREA)
            put_area(out, sheet, shape);
        else
            put_text(out, sheet, shape);
    }
}

/* ---- the file ---- */

struct file {
    struct bytes *out;
    size_t start; /* of the file in out */
    size_t offsets[OBJECTS];
};

static void begin_object(struct file *file, int number)
{
    file->offsets[number] = file->out->size - file->start;
    bytes_putf(file->out, "%d 0 obj\n", number);
}

static void put_object(struct file *file, int number, const char *body)
{
    begin_object(file, number);
    bytes_putf(file->out, "%s\nendobj\n", body);
}

static void put_page(struct file *file, const struct sheet *sheet)
{
    char body[512];
    snprintf(
        body, sizeof body,
        "<< /Type /Page /Parent %d 0 R /MediaBox [0 0 %.2f %.2f] /Contents %d 0 R /Resources << /Font << "
        "/Regular %d 0 R /Bold %d 0 R >> /ExtGState %d 0 R >> >>",
        PAGES, sheet->width * POINTS_PER_PIXEL, sheet->height * POINTS_PER_PIXEL, CONTENT, REGULAR, BOLD,
        STATES);
    put_object(file, PAGE, body);
}

static void put_stream(struct file *file, const struct sheet *sheet)
{
    struct bytes content = {0}, packed = {0};
    put_content(&content, sheet);
    deflated_put(&packed, content.data, content.size);
    begin_object(file, CONTENT);
    bytes_putf(file->out, "<< /Length %zu /Filter /FlateDecode >>\nstream\n", packed.size);
    bytes_put(file->out, packed.data, packed.size);
    bytes_put_text(file->out, "\nendstream\nendobj\n");
    file->out->failed |= content.failed || packed.failed;
    bytes_clear(&content);
    bytes_clear(&packed);
}

static void put_states(struct file *file)
{
    begin_object(file, STATES);
    bytes_put_text(file->out, "<<");
    for (int i = 0; i <= OPACITIES; i++)
        bytes_putf(file->out, " /O%d << /CA %.2f /ca %.2f >>", i, (double)i / OPACITIES,
                   (double)i / OPACITIES);
    bytes_put_text(file->out, " >>\nendobj\n");
}

/* UTF-16 in hexadecimal, so that any title is right and none can end the string. */
static void put_title(struct bytes *out, const char *title)
{
    struct bytes visible = {0};
    dot_text_put_visible(&visible, title, TITLE_CHARACTERS_MAX);
    bytes_put_u8(&visible, 0);
    bytes_put_text(out, "<FEFF");
    for (const char *at = visible.failed ? "" : (const char *)visible.data; *at;) {
        uint32_t character = letters_next(&at);
        if (character < 0x10000)
            bytes_putf(out, "%04X", character);
        else
            bytes_putf(out, "%04X%04X", 0xd800 + ((character - 0x10000) >> 10),
                       0xdc00 + ((character - 0x10000) & 0x3ff));
    }
    bytes_put_u8(out, '>');
    bytes_clear(&visible);
}

static void put_information(struct file *file, const char *title)
{
    begin_object(file, INFORMATION);
    bytes_put_text(file->out, "<< /Producer (sonde " SONDE_VERSION ") /Title ");
    put_title(file->out, title);
    bytes_put_text(file->out, " >>\nendobj\n");
}

static void put_end(struct file *file)
{
    size_t start = file->out->size - file->start;
    bytes_putf(file->out, "xref\n0 %d\n0000000000 65535 f \n", OBJECTS);
    for (int i = 1; i < OBJECTS; i++)
        bytes_putf(file->out, "%010zu 00000 n \n", file->offsets[i]);
    bytes_putf(file->out, "trailer\n<< /Size %d /Root %d 0 R /Info %d 0 R >>\nstartxref\n%zu\n%%%%EOF\n",
               OBJECTS, CATALOG, INFORMATION, start);
}

int pdf_writer_write(const struct sheet *sheet, const char *title, struct bytes *out, struct err *err)
{
    struct file file = {.out = out, .start = out->size};
    char pages[64], catalog[64];
    snprintf(catalog, sizeof catalog, "<< /Type /Catalog /Pages %d 0 R >>", PAGES);
    snprintf(pages, sizeof pages, "<< /Type /Pages /Kids [%d 0 R] /Count 1 >>", PAGE);
    bytes_put_text(out, "%PDF-1.4\n%\xe2\xe3\xcf\xd3\n"); /* bytes that say that the file is not text */
    put_object(&file, CATALOG, catalog);
    put_object(&file, PAGES, pages);
    put_page(&file, sheet);
    put_stream(&file, sheet);
    put_object(&file, REGULAR,
               "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>");
    put_object(&file, BOLD,
               "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding /WinAnsiEncoding >>");
    put_states(&file);
    put_information(&file, title);
    put_end(&file);
    return sheet->failed || out->failed ? err_set(err, "out of memory for the picture") : 0;
}
