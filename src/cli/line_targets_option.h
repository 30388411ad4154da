/* line_targets_option: what -f gives: the functions whose lines are to be recorded, by sonde line and sonde mem --lines. */
#ifndef SONDE_CLI_LINE_TARGETS_OPTION_H
#define SONDE_CLI_LINE_TARGETS_OPTION_H

#include <stdint.h>

struct bytes;
struct err;
struct option_list;

int line_targets_option_check(const struct option_list *functions, struct err *err);
/* Lines for the session. */
void line_targets_option_put_settings(const struct option_list *functions, struct bytes *out);
/* What was asked for, in words for reports; ended by a 0. */
void line_targets_option_put_words(const struct option_list *functions, struct bytes *out);
/* Those that meant no function that was called, by the bits that the recorder has found, in words. */
void line_targets_option_put_missing(const struct option_list *functions, uint64_t found, struct bytes *out);

#endif
