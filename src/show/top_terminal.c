#include "show/top_terminal.h"

#include "base/err.h"

#ifdef SONDE_NCURSES

#include <curses.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>
#include <unistd.h>

/* term.h makes macros of ordinary words. */
#undef columns
#undef lines

#include "show/canvas.h"
#include "show/terminal.h"
#include "show/top_view.h"

#define ESCAPE_DELAY_MS 50 /* a lone Esc is a key after this; ssh is rarely slower between two bytes */

/* Where systems keep their descriptions of terminals: a library that was linked elsewhere knows its own place only. */
#define TERMINFO_PLACES                                                                                      \
    "/etc/terminfo:/lib/terminfo:/usr/share/terminfo:/usr/lib/terminfo:/usr/local/share/terminfo:"           \
    "/run/current-system/sw/share/terminfo"

static SCREEN *screen;
static attr_t styles[CANVAS_STYLES];
static int resized;

/* ---- which terminal ---- */

/* 1 = found, 0 = unknown, -1 = there are no descriptions at all. */
static int describe(const char *name)
{
    int found = -1;
    return setupterm(name, STDOUT_FILENO, &found) == OK ? 1 : found;
}

static int describe_anywhere(const char *name)
{
    int found = describe(name);
    if (found == 1 || getenv("TERMINFO_DIRS"))
        return found;
    setenv("TERMINFO_DIRS", TERMINFO_PLACES, 1);
    found = describe(name);
    unsetenv("TERMINFO_DIRS"); /* the program that is to be run must not see it */
    return found;
}

/* Terminals that call themselves xterm-something understand xterm. */
static const char *find_description(const char *term, int *found)
{
    *found = describe_anywhere(term);
    if (*found == 1 || strncmp(term, "xterm", 5) != 0)
        return term;
    static const char *const alike[] = {"xterm-256color", "xterm"};
    for (size_t i = 0; i < sizeof alike / sizeof *alike; i++)
        if (describe_anywhere(alike[i]) == 1) {
            *found = 1;
            return alike[i];
        }
    return term;
}

static int check(struct err *err)
{
    const char *term = getenv("TERM");
    int found;
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return err_set(err,
                       "standard input and output are no terminal: use --batch for tables as plain text");
    if (!term || !*term || strcmp(term, "dumb") == 0)
        return err_set(err,
                       "this terminal (TERM=%s) cannot be drawn on: use --batch for tables as plain text",
                       term ? term : "");
    find_description(term, &found);
    if (found != 1)
        return err_set(err, "%s (TERM=%s): set TERM to one that is known, such as xterm, or use --batch",
                       found == 0 ? "this terminal is not known here"
                                  : "no descriptions of terminals were found here",
                       term);
    const char *move = tigetstr("cup");
    if (!move || move == (char *)-1)
        return err_set(
            err, "this terminal (TERM=%s) cannot be drawn on: use --batch for tables as plain text", term);
    return 0;
}

/* ---- putting it back ---- */

static void keep(struct top_terminal_saved *saved, const char *capability)
{
    const char *text = tigetstr(capability);
    if (!text || text == (char *)-1 || strlen(text) >= sizeof saved->sequences - saved->size)
        return;
    memcpy(saved->sequences + saved->size, text, strlen(text));
    saved->size += strlen(text);
}

int top_terminal_save(struct top_terminal_saved *saved, struct err *err)
{
    *saved = (struct top_terminal_saved){0};
    if (check(err) < 0)
        return -1;
    saved->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (saved->fd < 0 || tcgetattr(saved->fd, &saved->modes) != 0)
        return err_set_errno(err, "the terminal does not tell its modes");
    static const char *const back[] = {"sgr0", "cnorm", "rmkx", "rmcup"};
    for (size_t i = 0; i < sizeof back / sizeof *back; i++)
        keep(saved, back[i]);
    return 0;
}

void top_terminal_restore(const struct top_terminal_saved *saved)
{
    ssize_t written = write(saved->fd, saved->sequences, saved->size);
    (void)written; /* a terminal that is gone needs nothing */
    tcsetattr(saved->fd, TCSANOW, &saved->modes);
}

/* ---- drawing ---- */

static void choose_styles(bool color)
{
    styles[CANVAS_BOLD] = A_BOLD;
    styles[CANVAS_DIM] = A_DIM;
    styles[CANVAS_REVERSE] = A_REVERSE;
    styles[CANVAS_HOT] = A_BOLD;
    if (!color || !has_colors() || start_color() != OK || use_default_colors() != OK)
        return;
    init_pair(1, COLOR_RED, -1);
    init_pair(2, COLOR_YELLOW, -1);
    init_pair(3, COLOR_CYAN, -1);
    styles[CANVAS_HOT] = A_BOLD | (attr_t)COLOR_PAIR(1);
    styles[CANVAS_WARM] = (attr_t)COLOR_PAIR(2);
    styles[CANVAS_COOL] = (attr_t)COLOR_PAIR(3);
}

int top_terminal_open(bool color, struct err *err)
{
    int found;
    if (check(err) < 0)
        return -1;
    terminal_choose_locale();
    const char *name = find_description(getenv("TERM"), &found);
    if (!getenv("TERMINFO_DIRS"))
        setenv("TERMINFO_DIRS", TERMINFO_PLACES, 1);
    screen = newterm(name, stdout, stdin);
    if (!screen)
        return err_set(err, "the terminal (TERM=%s) cannot be used: use --batch", name);
    set_term(screen);
    raw();
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    set_escdelay(ESCAPE_DELAY_MS);
    curs_set(0);
    choose_styles(color);
    return 0;
}

void top_terminal_close(void)
{
    if (!screen)
        return;
    endwin();
    fflush(stdout);
    delscreen(screen);
    screen = NULL;
}

void top_terminal_size(unsigned *rows, unsigned *columns)
{
    int height, width;
    getmaxyx(stdscr, height, width);
    *rows = height > 0 ? (unsigned)height : 1;
    *columns = width > 0 ? (unsigned)width : 1;
}

static void show_row(const struct canvas *canvas, unsigned row)
{
    const struct canvas_cell *cells = &canvas->cells[(size_t)row * canvas->columns];
    move((int)row, 0);
    for (unsigned column = 0; column < canvas->columns; column++) {
        char text[5];
        if (cells[column].character == 0)
            continue;
        canvas_encode(cells[column].character, text);
        attrset((int)styles[cells[column].style]);
        addstr(text);
    }
}

void top_terminal_show(const struct canvas *canvas)
{
    erase();
    for (unsigned row = 0; row < canvas->rows; row++)
        show_row(canvas, row);
    if (resized)
        clearok(stdscr, TRUE);
    resized = 0;
    refresh();
}

/* ---- keys ---- */

int top_terminal_key(bool wait)
{
    timeout(wait ? 2 * ESCAPE_DELAY_MS : 0);
    int key = getch();
    switch (key) {
    case ERR:
        return -1;
    case KEY_RESIZE:
        resized = 1;
        return 0;
    case KEY_UP:
        return TOP_VIEW_UP;
    case KEY_DOWN:
        return TOP_VIEW_DOWN;
    case KEY_PPAGE:
        return TOP_VIEW_PAGE_UP;
    case KEY_NPAGE:
        return TOP_VIEW_PAGE_DOWN;
    case KEY_HOME:
        return TOP_VIEW_HOME;
    case KEY_END:
        return TOP_VIEW_END;
    case KEY_BACKSPACE:
        return TOP_VIEW_BACKSPACE;
    case KEY_ENTER:
        return '\n';
    }
    return key > 0 && key < 256 ? key : 0;
}

#else

int top_terminal_save(struct top_terminal_saved *saved, struct err *err)
{
    *saved = (struct top_terminal_saved){0};
    return err_set(err,
                   "this sonde was built without ncurses and cannot draw: use --batch, or build it again "
                   "with ncurses (Debian: apt install libncurses-dev)");
}

void top_terminal_restore(const struct top_terminal_saved *saved)
{
    (void)saved;
}

int top_terminal_open(bool color, struct err *err)
{
    (void)color;
    return err_set(err, "this sonde was built without ncurses");
}

void top_terminal_close(void)
{
}

void top_terminal_size(unsigned *rows, unsigned *columns)
{
    *rows = 24;
    *columns = 80;
}

void top_terminal_show(const struct canvas *canvas)
{
    (void)canvas;
}

int top_terminal_key(bool wait)
{
    (void)wait;
    return -1;
}

#endif
