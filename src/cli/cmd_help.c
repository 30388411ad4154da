/* sonde help: the pages that are made from the option tables: help, manual, completion, letters. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/help.h"
#include "cli/manual.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/suggest.h"

struct values {
    bool man;
    bool letters;
    const char *completion;
};

/* The table of letters. */

struct letter {
    const struct option *option;
    const char *name;
    const struct command *command;
};

static int by_letter(const void *left, const void *right)
{
    const struct letter *a = left, *b = right;
    int order = tolower(a->option->letter) - tolower(b->option->letter);
    if (order == 0)
        order = a->option->letter - b->option->letter;
    return order ? order : strcmp(a->option->name, b->option->name);
}

static size_t gather_letters(struct letter *letters, size_t max)
{
    size_t count = 0;
    for (const struct command *const *command = sonde_commands; *command; command++)
        for (const struct option *option = (*command)->options; option && option->name; option++)
            if (option->letter && option->help && option->kind != OPTION_HEADING && count < max)
                letters[count++] = (struct letter){option, option->name, *command};
    return count;
}

/* As Markdown, for CONTRIBUTING.md. */
static void put_letters(struct bytes *out)
{
    struct letter letters[1024];
    size_t count = gather_letters(letters, sizeof letters / sizeof *letters - 1);
    for (const struct option *option = options_common_table; option->name; option++)
        if (option->letter)
            letters[count++] = (struct letter){option, option->name, NULL};
    qsort(letters, count, sizeof *letters, by_letter);
    bytes_put_text(out, "| Letter | Means | In |\n|---|---|---|\n");
    for (size_t index = 0; index < count; index++) {
        const struct letter *row = &letters[index];
        bool same = index && by_letter(row, row - 1) == 0;
        if (!same)
            bytes_putf(out, "%s| `-%c` | `--%s%s` | ", index ? " |\n" : "", row->option->letter,
                       row->command && options_is_negative(row->command, row->option) ? "no-" : "",
                       row->name);
        bytes_putf(out, "%s%s", same ? ", " : "", row->command ? row->command->name : "every command");
    }
    bytes_put_text(out, " |\n");
}

static void put_completion(struct bytes *out, const char *shell)
{
    if (strcmp(shell, "bash") == 0)
        completion_bash(out);
    else if (strcmp(shell, "zsh") == 0)
        completion_zsh(out);
    else
        completion_fish(out);
}

static void put_page(struct bytes *out, const struct command *command, bool man)
{
    struct help_style style = {message_columns(stdout), message_has_color(stdout)};
    if (man && command)
        manual_command(out, command);
    else if (man)
        manual_overview(out);
    else if (command)
        help_command(out, style, command);
    else
        help_overview(out, style, false);
}

static int run(void *untyped, int argc, char **argv)
{
    const struct values *values = untyped;
    const struct command *command = argc ? options_find_command(argv[0]) : NULL;
    struct bytes out = {0};
    if (argc && !command)
        return suggest_command(argv[0]);
    if (values->completion)
        put_completion(&out, values->completion);
    else if (values->letters)
        put_letters(&out);
    else
        put_page(&out, command, values->man);
    return output_print(&out);
}

static const char *const shells[] = {"bash", "zsh", "fish", NULL};

static const struct option options[] = {
    {"man", 0, OPTION_FLAG, NULL, offsetof(struct values, man), NULL,
     "Write the manual page, as roff: 'sonde help --man trace | man -l -'."},
    {"completion", 0, OPTION_CHOICE, "SHELL", offsetof(struct values, completion), shells,
     "Write the completion script for bash, zsh or fish."},
    {"letters", 0, OPTION_FLAG, NULL, offsetof(struct values, letters), NULL,
     "Write the table of short letters and what they mean in which command."},
    {NULL},
};

const struct command command_help = {
    .name = "help",
    .group = "Help",
    .summary = "Explain sonde or one of its commands",
    .arguments = "[COMMAND]",
    .description =
        "Prints what 'sonde COMMAND --help' prints, or without a command what there is. The same tables "
        "of options give the manual pages and the shells' completion scripts.",
    .examples = "sonde help report\tHow to use the report command.\n"
                "source <(sonde help --completion bash)\tComplete commands and options in this shell.",
    .options = options,
    .values_size = sizeof(struct values),
    .run = run,
};
