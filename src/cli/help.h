/*
 * help: the text of `sonde`, `sonde --help` and `sonde COMMAND --help`, made from the option tables. The
 * words about one option (its label, its choices and default) are shared with the man pages.
 */
#ifndef SONDE_CLI_HELP_H
#define SONDE_CLI_HELP_H

#include <stdbool.h>

#include "base/bytes.h"

struct command;
struct option;

/* What a page is written for. */
struct help_style {
    unsigned columns; /* at least 40; longer lines than 100 are not made, as they read badly */
    bool color;
};

/* The commands, by group. With `brief`, what someone needs who typed `sonde` alone. */
void help_overview(struct bytes *out, struct help_style style, bool brief);
void help_command(struct bytes *out, struct help_style style, const struct command *command);

extern const char help_summary[]; /* what sonde is, in a line */
extern const char help_rules[];   /* what holds for every command, in paragraphs */

/* The heading that follows `group` (NULL = the first); NULL after the last. */
const char *help_next_group(const char *group);

/* "--output FILE", "--no-c-calls": the long form as shown. */
void help_option_name(struct bytes *out, const struct command *command, const struct option *option);
/* The option's sentences, with choices and default where they do not name them. */
void help_option_words(struct bytes *out, const struct command *command, const struct option *option);

#endif
