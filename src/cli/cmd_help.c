/* sonde help: the pages that are made from the option tables: help, manual, completion, letters. */
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/message.h"
#include "cli/suggest.h"

static int print(struct bytes *text)
{
    bool good =
        !text->failed && fwrite(text->data, 1, text->size, stdout) == text->size && fflush(stdout) == 0;
    bytes_clear(text);
    struct err err = {0};
    if (!good)
        err_set_errno(&err, "cannot write to standard output");
    return good ? 0 : message_fail(&err);
}

static int run(void *values, int argc, char **argv)
{
    (void)values;
    struct help_style style = {message_columns(stdout), message_has_color(stdout)};
    struct bytes out = {0};
    if (argc == 0) {
        help_overview(&out, style, false);
        return print(&out);
    }
    const struct command *command = options_find_command(argv[0]);
    if (!command)
        return suggest_command(argv[0]);
    help_command(&out, style, command);
    return print(&out);
}

const struct command command_help = {
    .name = "help",
    .group = "Help",
    .summary = "Explain sonde or one of its commands",
    .arguments = "[COMMAND]",
    .run = run,
};
