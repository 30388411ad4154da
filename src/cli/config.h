/*
 * config: defaults that are written down once: [tool.sonde] (all commands) and [tool.sonde.COMMAND] in the
 * nearest pyproject.toml that has them, then the variable SONDE_OPTIONS, each stronger than the one before and
 * all weaker than the command line. Keys are long option names.
 *
 * A command ignores options that only other commands know; what none knows is told once. A zeroed struct is
 * empty; it owns the texts that it put into values, so it must outlive them.
 */
#ifndef SONDE_CLI_CONFIG_H
#define SONDE_CLI_CONFIG_H

#include <stddef.h>

struct command;
struct err;

struct config {
    char **texts;
    size_t count;
};

/* `folder` is where the search upward begins; `variable` is the text of SONDE_OPTIONS. NULL = none of it. */
int config_apply(struct config *config, const struct command *command, void *values, const char *folder,
                 const char *variable, struct err *err);
void config_clear(struct config *config);

/* Splits as a shell does: blanks separate, quotes and backslashes protect. The texts belong to the config;
 * *words is NULL-ended and freed by the caller. */
int config_split(struct config *config, const char *text, char ***words, size_t *count, struct err *err);

#endif
