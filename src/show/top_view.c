#include "show/top_view.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

const char *const top_view_help[] = {
    "1 2 3 4\tsort by the column",
    "l\tlines or functions",
    "t\tthreads or functions",
    "/\tshow only what matches a pattern (Esc: all again)",
    "r\treset: count from now on",
    "p, space\tpause the picture; the program runs on",
    "o\tthe program's own output",
    "↑ ↓ PgUp PgDn\tscroll (also j k, Home End)",
    "? h x\tthis help, or away with it",
    "q, Ctrl-C\tquit; a program that was started here is ended",
    NULL,
};

/* ---- typing a filter ---- */

static void take_back(char *text)
{
    size_t size = strlen(text);
    while (size && ((unsigned char)text[size - 1] & 0xc0) == 0x80)
        size--;
    text[size ? size - 1 : 0] = '\0';
}

static enum top_view_action type(struct top_view *view, int key)
{
    size_t size = strlen(view->typed);
    if (key == TOP_VIEW_INTERRUPT || key == TOP_VIEW_ESCAPE) {
        view->typing = false;
    } else if (key == '\n' || key == '\r') {
        view->typing = false;
        memcpy(view->filter, view->typed, sizeof view->filter);
        view->scroll = 0;
    } else if (key == TOP_VIEW_BACKSPACE || key == 127 || key == 8) {
        take_back(view->typed);
    } else if (key == 21) { /* Ctrl-U */
        view->typed[0] = '\0';
    } else if (key >= ' ' && key < 256 && size + 1 < sizeof view->typed) {
        view->typed[size] = (char)key;
        view->typed[size + 1] = '\0';
    } else {
        return TOP_VIEW_NOTHING;
    }
    return TOP_VIEW_DRAW;
}

/* ---- the other keys ---- */

static bool scroll(struct top_view *view, int key)
{
    unsigned page = view->page ? view->page : 1;
    unsigned back = key == TOP_VIEW_PAGE_UP ? page : 1, on = key == TOP_VIEW_PAGE_DOWN ? page : 1;
    switch (key) {
    case TOP_VIEW_UP:
    case TOP_VIEW_PAGE_UP:
    case 'k':
        view->scroll -= view->scroll < back ? view->scroll : back;
        return true;
    case TOP_VIEW_DOWN:
    case TOP_VIEW_PAGE_DOWN:
    case 'j':
        view->scroll += view->scroll < UINT_MAX / 2 ? on : 0;
        return true;
    case TOP_VIEW_HOME:
        view->scroll = 0;
        return true;
    case TOP_VIEW_END:
        view->scroll = UINT_MAX / 2; /* who draws knows where the end is */
        return true;
    }
    return false;
}

static bool toggle(struct top_view *view, int key)
{
    switch (key) {
    case '1':
    case '2':
    case '3':
    case '4':
        view->sort = (unsigned)(key - '1');
        break;
    case 'l':
    case 'L':
        view->lines = !view->lines;
        view->threads = false;
        break;
    case 't':
    case 'T':
        view->threads = !view->threads;
        break;
    case 'o':
    case 'O':
        view->output = !view->output;
        return true;
    default:
        return false;
    }
    view->scroll = 0;
    return true;
}

/* What is in the way goes first: the help, then the filter. */
static enum top_view_action escape(struct top_view *view)
{
    if (view->help)
        view->help = false;
    else
        view->filter[0] = '\0';
    return TOP_VIEW_DRAW;
}

enum top_view_action top_view_key(struct top_view *view, int key)
{
    if (view->typing)
        return type(view, key);
    if (toggle(view, key) || scroll(view, key))
        return TOP_VIEW_DRAW;
    switch (key) {
    case '?':
    case 'h':
    case 'H':
        view->help = !view->help;
        return TOP_VIEW_DRAW;
    case 'x':
    case 'X':
        view->help = false;
        return TOP_VIEW_DRAW;
    case TOP_VIEW_ESCAPE:
        return escape(view);
    case '/':
        view->typing = true;
        memcpy(view->typed, view->filter, sizeof view->typed);
        return TOP_VIEW_DRAW;
    case 'r':
    case 'R':
        return TOP_VIEW_RESET;
    case 'p':
    case 'P':
    case ' ':
        view->paused = !view->paused;
        return TOP_VIEW_PAUSE;
    case 'q':
    case 'Q':
    case TOP_VIEW_INTERRUPT:
        return TOP_VIEW_QUIT;
    }
    return TOP_VIEW_NOTHING;
}
