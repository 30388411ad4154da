/*
 * input: recordings named on the command line, or the newest one when none is. A name is a file of any format
 * that sonde reads, a folder (the recordings in it), a pattern that the shell left alone ('x.*.prof'), "-"
 * (standard input), or "@N" (the Nth newest in the working directory, as `sonde list` counts them).
 */
#ifndef SONDE_CLI_INPUT_H
#define SONDE_CLI_INPUT_H

#include <stddef.h>

struct err;
struct recording;

/* Reads the file ("-" = standard input) whatever its format, into an empty recording. Damage is not an error.
 */
int input_read(const char *path, struct recording *recording, struct err *err);

/* The files that the words of a command line stand for. Owns them; a zeroed struct is empty. */
struct input_paths {
    char **items;
    size_t count;
};
/* No words = the newest. */
int input_expand(int argc, char **argv, struct input_paths *paths, struct err *err);
void input_clear(struct input_paths *paths);

/* argv[0..argc) → recording: none named = the newest; several = summed. `name` (may be NULL) receives a new
 * string for headings that the caller frees. */
int input_read_all(int argc, char **argv, struct recording *recording, char **name, struct err *err);

#endif
