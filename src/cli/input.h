/* input: recordings named on the command line, or the newest one when none is. */
#ifndef SONDE_CLI_INPUT_H
#define SONDE_CLI_INPUT_H

#include <stddef.h>

struct err;
struct recording;

/* Reads the file ("-" = standard input) whatever its format, into an empty recording. Damage is not an error.
 */
int input_read(const char *path, struct recording *recording, struct err *err);

/* The newest recording in the working directory (by content, so a .prof counts too), as a new string that the
 * caller frees; its name is printed to standard error. NULL with err when there is none. */
char *input_newest(struct err *err);

/* argv[0..argc) → recording: none named = the newest; several = summed. `name` (may be NULL) receives a new
 * string for headings that the caller frees. */
int input_read_all(int argc, char **argv, struct recording *recording, char **name, struct err *err);

#endif
