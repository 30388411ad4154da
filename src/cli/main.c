/* main: the command table, and the way from the command line to a command. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/message.h"
#include "cli/suggest.h"

const struct command *const sonde_commands[] = {
    &command_help,
    NULL,
};

static int print_overview(bool brief)
{
    struct bytes out = {0};
    help_overview(&out, (struct help_style){message_columns(stdout), message_has_color(stdout)}, brief);
    fwrite(out.data, 1, out.size, stdout);
    bytes_clear(&out);
    return 0;
}

static int print_help(const struct command *command)
{
    struct bytes out = {0};
    help_command(&out, (struct help_style){message_columns(stdout), message_has_color(stdout)}, command);
    fwrite(out.data, 1, out.size, stdout);
    bytes_clear(&out);
    return 0;
}

static int run_command(const struct command *command, int argc, char **argv)
{
    struct err err = {0};
    void *values = calloc(1, command->values_size + 1);
    if (!values) {
        err_set(&err, "out of memory");
        return message_fail(&err);
    }
    int parsed = options_parse(command, values, &argc, &argv, &err);
    int code;
    if (parsed < 0)
        code = message_fail_with(&err, "'sonde %s --help' shows its options", command->name);
    else
        code = parsed == 1 ? print_help(command) : command->run(values, argc, argv);
    options_clear(command, values);
    free(values);
    return code;
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : NULL;
    if (!word)
        return print_overview(true);
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        return print_overview(false);
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
        return puts("sonde " SONDE_VERSION) < 0;
    const struct command *command = options_find_command(word);
    if (!command)
        return suggest_command(word);
    return run_command(command, argc - 2, argv + 2);
}
