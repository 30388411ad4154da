/*
 * message: what the program says to the person beside its results: always on standard error, with the
 * program's name in front. Results go to standard output and are not made here.
 */
#ifndef SONDE_CLI_MESSAGE_H
#define SONDE_CLI_MESSAGE_H

#include <stdbool.h>
#include <stdio.h>

struct err;

#define MESSAGE_EXIT_MISTAKE 2 /* the exit code of every mistake of the user's and every bad input */

/* Prints the failure and returns MESSAGE_EXIT_MISTAKE: `return message_fail(&err);` ends a command. */
int message_fail(const struct err *err);
/* As message_fail, with a second line that says what to do. */
int message_fail_with(const struct err *err, const char *remedy, ...) __attribute__((format(printf, 2, 3)));

/* Something was not as it should be; printed even with --quiet. */
void message_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* What was chosen or written ("reading x.sonde"); not with --quiet. */
void message_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Advice; only on a terminal, not with --quiet. */
void message_hint(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Only with --verbose. */
void message_detail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Whether to colour what is written to the stream: --color, else a terminal without NO_COLOR or TERM=dumb. */
bool message_has_color(FILE *stream);
/* Columns of the terminal behind the stream, else COLUMNS, else 80. */
unsigned message_columns(FILE *stream);

#endif
