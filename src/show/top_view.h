/*
 * top_view: how somebody looks at a running program: what is listed, in which order, how far it is scrolled; and what
 * the keys do to that. Knows no terminal.
 */
#ifndef SONDE_SHOW_TOP_VIEW_H
#define SONDE_SHOW_TOP_VIEW_H

#include <stdbool.h>

/* Keys that are no character. */
enum top_view_key {
    TOP_VIEW_UP = 0x110000, /* behind all characters */
    TOP_VIEW_DOWN,
    TOP_VIEW_PAGE_UP,
    TOP_VIEW_PAGE_DOWN,
    TOP_VIEW_HOME,
    TOP_VIEW_END,
    TOP_VIEW_BACKSPACE,
};
#define TOP_VIEW_ESCAPE    27
#define TOP_VIEW_INTERRUPT 3 /* Ctrl-C */

enum top_view_action { TOP_VIEW_NOTHING, TOP_VIEW_DRAW, TOP_VIEW_RESET, TOP_VIEW_PAUSE, TOP_VIEW_QUIT };

#define TOP_VIEW_COLUMNS    4
#define TOP_VIEW_FILTER_MAX 128

struct top_view {
    bool lines;   /* a function's lines apart */
    bool threads; /* threads in place of functions */
    bool help;
    bool output; /* the program's last words below the table */
    bool paused;
    bool typing; /* the filter is being typed */
    bool full_filenames;
    unsigned sort; /* column 0 to 3 */
    unsigned scroll;
    unsigned page;                    /* rows that a page has; set by who draws */
    char filter[TOP_VIEW_FILTER_MAX]; /* an extended regular expression; "" = all */
    char typed[TOP_VIEW_FILTER_MAX];
};

enum top_view_action top_view_key(struct top_view *view, int key);

/* One line for each key: "1 to 4\tsort by that column". NULL-ended. */
extern const char *const top_view_help[];

#endif
