/*
 * terminal: text that fits a terminal: colours, wrapping, names cut to a width.
 *
 * Texts come from recordings and are not trusted: control characters are shown as '?', so that no file can
 * steer the terminal it is shown on. Widths count characters, not bytes.
 */
#ifndef SONDE_SHOW_TERMINAL_H
#define SONDE_SHOW_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

struct bytes;

enum terminal_style { TERMINAL_PLAIN, TERMINAL_BOLD, TERMINAL_DIM, TERMINAL_HOT, TERMINAL_WARM };

struct terminal {
    unsigned width; /* 0 = no limit: names are whole, sentences wrap at TERMINAL_TEXT_WIDTH */
    bool color;
};

#define TERMINAL_TEXT_WIDTH 80

/* Makes the C library know the user's characters. */
void terminal_choose_locale(void);
/* Whether only ASCII can be shown, in the locale that was chosen. */
bool terminal_is_ascii(void);

void terminal_style(const struct terminal *terminal, enum terminal_style style, struct bytes *out);
size_t terminal_columns(const char *text);
void terminal_put(const char *text, struct bytes *out);
/* A line of a program: its tabs stay. */
void terminal_put_source(const char *text, size_t size, struct bytes *out);
/* Words wrapped to the width; lines after the first begin with `indent` spaces. `used`: columns before. */
void terminal_wrap(const struct terminal *terminal, const char *text, unsigned used, unsigned indent,
                   struct bytes *out);
/* A "file:line(function)" in what is left of the line after `used` columns: it is cut from the left, as the
 * function is at its end. */
void terminal_fit(const struct terminal *terminal, const char *label, unsigned used, struct bytes *out);

#endif
