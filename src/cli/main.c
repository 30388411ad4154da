/* main: the command table, and the way from the command line to a command. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cli/commands.h"
#include "cli/config.h"
#include "cli/help.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/suggest.h"

/* The order is that of the help. */
/* clang-format off */
const struct command *const sonde_commands[] = {
    &command_trace,
    &command_line,
    &command_mem,
    &command_record,
    &command_top,
    &command_dump,
    &command_view,
    &command_report,
    &command_info,
    &command_graph,
    &command_plot,
    &command_export,
    &command_page,
    &command_finalize,
    &command_merge,
    &command_pack,
    &command_unpack,
    &command_env,
    &command_help,
    &command_list,
    NULL,
};
/* clang-format on */

static struct help_style style(void)
{
    return (struct help_style){message_columns(stdout), message_has_color(stdout)};
}

static int print_overview(bool brief)
{
    struct bytes out = {0};
    help_overview(&out, style(), brief);
    return output_print(&out);
}

static int print_help(const struct command *command)
{
    struct bytes out = {0};
    help_command(&out, style(), command);
    return output_print(&out);
}

static int print_version(void)
{
    struct bytes out = {0};
    bytes_put_text(&out, "sonde " SONDE_VERSION "\n");
    return output_print(&out);
}

/* A mistake in a file of defaults must not stand in the way of the help that explains it, so it counts only
 * once the command line itself is in order. */
static int run_with(const struct command *command, struct config *config, void *values, int argc, char **argv)
{
    struct err err = {0}, config_err = {0};
    options_defaults(command, values);
    int configured = config_apply(config, command, values, ".", getenv("SONDE_OPTIONS"), &config_err);
    int parsed = options_read(command, values, &argc, &argv, &err);
    if (parsed == 1)
        return print_help(command);
    if (parsed < 0)
        return message_fail_with(&err, "'sonde %s --help' shows its options", command->name);
    return configured < 0 ? message_fail(&config_err) : command->run(values, argc, argv);
}

static int run_command(const struct command *command, int argc, char **argv)
{
    struct config config = {0};
    void *values = calloc(1, command->values_size + 1);
    if (!values)
        return message_fail(&(struct err){"out of memory"});
    int code = run_with(command, &config, values, argc, argv);
    options_clear(command, values);
    config_clear(&config);
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
        return print_version();
    const struct command *command = options_find_command(word);
    if (!command)
        return suggest_command(word);
    return run_command(command, argc - 2, argv + 2);
}
