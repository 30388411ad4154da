/*
 * top_screen: the picture of a running program: a heading, the last minute, a table; drawn on a canvas of any size.
 *
 * 80 x 24 shows all; what is smaller loses first the last minute, then columns, then words.
 */
#ifndef SONDE_SHOW_TOP_SCREEN_H
#define SONDE_SHOW_TOP_SCREEN_H

#include <stdbool.h>
#include <stdint.h>

struct canvas;
struct err;
struct live;
struct recording;
struct top_view;

/* What there is to show. Everything is borrowed. */
struct top_facts {
    const char *program; /* its command line, or "pid 4711" */
    const struct recording *recording;
    const struct live *live;
    uint64_t rate_hz;
    const char *output;  /* the end of what the program wrote; NULL = it writes elsewhere */
    const char *message; /* in place of the line about keys; NULL = none */
};

/* Sets the view's page, and its scroll within bounds. */
int top_screen_draw(struct canvas *canvas, struct top_view *view, const struct top_facts *facts,
                    struct err *err);
/* The same without keys and pictures, for a file: `limit` rows at most. The canvas gets the rows that it needs. */
int top_screen_draw_plain(struct canvas *canvas, unsigned columns, unsigned limit, struct top_view *view,
                          const struct top_facts *facts, struct err *err);

#endif
