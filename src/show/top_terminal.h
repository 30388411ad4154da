/*
 * top_terminal: a canvas on a real terminal, and its keys; the only file that knows ncurses.
 *
 * There is one terminal for a process, so the functions take none. Whoever fears to die without putting the terminal
 * back lets another process watch: that one keeps a struct top_terminal_saved, made before, and restores from it.
 */
#ifndef SONDE_SHOW_TOP_TERMINAL_H
#define SONDE_SHOW_TOP_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

struct canvas;
struct err;

struct top_terminal_saved {
    int fd; /* of the terminal, whatever becomes of standard output; closed when the process ends */
    struct termios modes;
    char sequences[256]; /* what takes it back from full screen to lines */
    size_t size;
};

/* -1 when standard input and output are no terminal that can be drawn on; the message says why. */
int top_terminal_save(struct top_terminal_saved *saved, struct err *err);
/* Puts the terminal back as it was, in the middle of whatever. */
void top_terminal_restore(const struct top_terminal_saved *saved);

int top_terminal_open(bool color, struct err *err);
void top_terminal_close(void);
void top_terminal_size(unsigned *rows, unsigned *columns);
void top_terminal_show(const struct canvas *canvas);
/* The next key that was pressed: a byte, or an enum top_view_key; 0 = the size has changed; -1 = none. With `wait` it is
 * known that one was, and there is time to see whether Esc is a key or the beginning of one. */
int top_terminal_key(bool wait);

#endif
