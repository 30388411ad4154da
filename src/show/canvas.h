/*
 * canvas: a screenful of characters to draw on, that a terminal or a test then shows.
 *
 * Whatever is put outside is cut off. Texts come from recordings and are not trusted: control characters and broken
 * UTF-8 become '?'. A wide character takes two cells, the second of which is 0. The struct owns its cells; a zeroed
 * one is a canvas without any.
 */
#ifndef SONDE_SHOW_CANVAS_H
#define SONDE_SHOW_CANVAS_H

#include <stdbool.h>
#include <stdint.h>

struct bytes;
struct err;

enum canvas_style {
    CANVAS_PLAIN,
    CANVAS_BOLD,
    CANVAS_DIM,
    CANVAS_REVERSE,
    CANVAS_HOT,
    CANVAS_WARM,
    CANVAS_COOL,
    CANVAS_STYLES
};

struct canvas_cell {
    uint32_t character;
    uint32_t style; /* enum canvas_style */
};

struct canvas {
    unsigned rows, columns;
    struct canvas_cell *cells; /* row by row */
    bool ascii;                /* nothing else can be shown: other characters are replaced */
};

/* Blank, of that size. */
int canvas_resize(struct canvas *canvas, unsigned rows, unsigned columns, struct err *err);
void canvas_clear(struct canvas *canvas);

/* Each gives the column behind what was put, on the canvas or not. */
unsigned canvas_put(struct canvas *canvas, unsigned row, unsigned column, enum canvas_style style,
                    const char *text);
unsigned canvas_putf(struct canvas *canvas, unsigned row, unsigned column, enum canvas_style style,
                     const char *format, ...) __attribute__((format(printf, 5, 6)));
/* As canvas_put, in at most `width` columns: a longer text ends in an ellipsis. */
unsigned canvas_put_fit(struct canvas *canvas, unsigned row, unsigned column, unsigned width,
                        enum canvas_style style, const char *text);
/* A column of eight possible heights; `height` from 0 (blank, or nearly) to 8. */
void canvas_put_bar(struct canvas *canvas, unsigned row, unsigned column, enum canvas_style style,
                    unsigned height);
void canvas_fill(struct canvas *canvas, unsigned row, enum canvas_style style);

/* The columns that a text takes. */
unsigned canvas_columns(const char *text);
/* What is on it, as lines of UTF-8 without trailing spaces. */
void canvas_text(const struct canvas *canvas, struct bytes *out);
/* One character as UTF-8, ended by NUL. */
void canvas_encode(uint32_t character, char text[5]);

#endif
