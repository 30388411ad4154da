#include "show/canvas.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/bytes.h"
#include "base/err.h"

#define LARGEST  1000 /* rows, columns */
#define ELLIPSIS 0x2026
#define BLOCK    0x2581 /* the lowest of eight */

int canvas_resize(struct canvas *canvas, unsigned rows, unsigned columns, struct err *err)
{
    rows = rows < LARGEST ? rows : LARGEST;
    columns = columns < LARGEST ? columns : LARGEST;
    struct canvas_cell *cells = realloc(canvas->cells, ((size_t)rows * columns + 1) * sizeof *cells);
    if (!cells)
        return err_set(err, "out of memory");
    canvas->cells = cells;
    canvas->rows = rows;
    canvas->columns = columns;
    for (size_t i = 0; i < (size_t)rows * columns; i++)
        cells[i] = (struct canvas_cell){.character = ' '};
    return 0;
}

void canvas_clear(struct canvas *canvas)
{
    free(canvas->cells);
    *canvas = (struct canvas){0};
}

/* ---- characters ---- */

/* The next character; broken bytes give '?' one by one. */
static uint32_t decode(const char **text)
{
    const unsigned char *at = (const unsigned char *)*text;
    unsigned extra = at[0] < 0x80 ? 0 : at[0] >> 5 == 6 ? 1 : at[0] >> 4 == 14 ? 2 : at[0] >> 3 == 30 ? 3 : 4;
    uint32_t character = extra == 0 ? at[0] : at[0] & (0x3f >> extra);
    for (unsigned i = 1; extra < 4 && i <= extra; i++) {
        if (at[i] >> 6 != 2)
            extra = 4;
        else
            character = character << 6 | (at[i] & 0x3f);
    }
    static const uint32_t smallest[] = {0, 0x80, 0x800, 0x10000};
    bool good = extra < 4 && character >= smallest[extra] && character <= 0x10ffff;
    *text += good ? extra + 1 : 1;
    bool control = character < 0x20 || (character >= 0x7f && character < 0xa0);
    return good && !control ? character : '?';
}

static unsigned width_of(uint32_t character)
{
    if (character < 0x80)
        return 1;
    int width = wcwidth((wchar_t)character);
    return width < 0 ? 1 : (unsigned)width; /* a locale that does not know it shows one sign in its place */
}

static uint32_t plain(uint32_t character)
{
    static const char heights[] = "_.,:-=+#";
    if (character < 0x80)
        return character;
    if (character >= BLOCK && character < BLOCK + 8)
        return (unsigned char)heights[character - BLOCK];
    return character == ELLIPSIS ? '.' : character == 0x2500 ? '-' : '?';
}

void canvas_encode(uint32_t character, char text[5])
{
    unsigned extra = character < 0x80 ? 0 : character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
    static const unsigned char first[] = {0, 0xc0, 0xe0, 0xf0};
    text[0] = (char)(first[extra] | character >> 6 * extra);
    for (unsigned i = 1; i <= extra; i++)
        text[i] = (char)(0x80 | (character >> 6 * (extra - i) & 0x3f));
    text[extra + 1] = '\0';
}

/* ---- drawing ---- */

static void put_cell(struct canvas *canvas, unsigned row, unsigned column, enum canvas_style style,
                     uint32_t character)
{
    if (row < canvas->rows && column < canvas->columns)
        canvas->cells[(size_t)row * canvas->columns + column] = (struct canvas_cell){character, style};
}

static unsigned put_character(struct canvas *canvas, unsigned row, unsigned column, enum canvas_style style,
                              uint32_t character)
{
    if (canvas->ascii)
        character = plain(character);
    unsigned width = width_of(character);
    if (width == 2 && column + 1 >= canvas->columns) { /* half of it would not be there */
        put_cell(canvas, row, column, style, '?');
        return column + width;
    }
    if (width)
        put_cell(canvas, row, column, style, character);
    if (width == 2)
        put_cell(canvas, row, column + 1, style, 0);
    return column + width;
}

unsigned canvas_put(struct canvas *canvas, unsigned row, unsigned column, enum canvas_style style,
                    const char *text)
{
    while (*text)
        column = put_character(canvas, row, column, style, decode(&text));
    return column;
}

unsigned canvas_putf(struct canvas *canvas, unsigned row, unsigned column, enum canvas_style style,
                     const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return canvas_put(canvas, row, column, style, text);
}

unsigned canvas_columns(const char *text)
{
    unsigned columns = 0;
    while (*text)
        columns += width_of(decode(&text));
    return columns;
}

unsigned canvas_put_fit(struct canvas *canvas, unsigned row, unsigned column, unsigned width,
                        enum canvas_style style, const char *text)
{
    if (canvas_columns(text) <= width)
        return canvas_put(canvas, row, column, style, text);
    unsigned end = column + width;
    while (*text && width) {
        uint32_t character = decode(&text);
        if (column + width_of(character) >= end)
            break;
        column = put_character(canvas, row, column, style, character);
    }
    return width ? put_character(canvas, row, column, style, ELLIPSIS) : column;
}

void canvas_put_bar(struct canvas *canvas, unsigned row, unsigned column, enum canvas_style style,
                    unsigned height)
{
    uint32_t block = BLOCK - 1 + (height < 8 ? height : 8);
    put_character(canvas, row, column, style, height ? block : ' ');
}

void canvas_fill(struct canvas *canvas, unsigned row, enum canvas_style style)
{
    for (unsigned column = 0; column < canvas->columns; column++)
        put_cell(canvas, row, column, style, ' ');
}

static unsigned used_columns(const struct canvas *canvas, const struct canvas_cell *row)
{
    unsigned columns = canvas->columns;
    while (columns && row[columns - 1].character == ' ')
        columns--;
    return columns;
}

void canvas_text(const struct canvas *canvas, struct bytes *out)
{
    for (unsigned row = 0; row < canvas->rows; row++) {
        const struct canvas_cell *cells = &canvas->cells[(size_t)row * canvas->columns];
        unsigned columns = used_columns(canvas, cells);
        for (unsigned column = 0; column < columns; column++) {
            char text[5];
            canvas_encode(cells[column].character, text);
            bytes_put_text(out, text);
        }
        bytes_put_u8(out, '\n');
    }
}
