#include "cli/help.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options.h"
#include "show/terminal.h"

#define BOLD  "\033[1m"
#define CYAN  "\033[36m"
#define PLAIN "\033[0m"

#define WIDEST      100
#define NARROWEST   40
#define WIDEST_NAME 28 /* a longer label in the left column gets a line of its own */

const char help_summary[] = "where a Python program spends its time and its memory";

const char help_rules[] =
    "Options may be abbreviated while they are unambiguous. Defaults are taken from [tool.sonde] and "
    "[tool.sonde.COMMAND] in the nearest pyproject.toml, then from the variable SONDE_OPTIONS, then from "
    "the "
    "command line.\n\n"
    "Where a command reads a recording and none is named, it takes the newest one in the working "
    "directory. "
    "Formats are recognised by content: .sonde and cProfile's .prof files alike. @2 is the second "
    "newest, as "
    "`sonde list` counts them.\n";

static unsigned usable_columns(struct help_style style)
{
    unsigned columns = style.columns > WIDEST ? WIDEST : style.columns;
    return columns < NARROWEST ? NARROWEST : columns;
}

static void put_colored(struct bytes *out, struct help_style style, const char *color, const char *text)
{
    bytes_putf(out, "%s%s%s", style.color ? color : "", text, style.color ? PLAIN : "");
}

static void put_spaces(struct bytes *out, unsigned count)
{
    bytes_putf(out, "%*s", (int)count, "");
}

/* One paragraph, broken between words. The cursor stands in column `at`; further lines begin in `indent`. */
static void put_filled(struct bytes *out, struct help_style style, const char *text, size_t size, unsigned at,
                       unsigned indent)
{
    char *paragraph = strndup(text, size);
    if (!paragraph) {
        out->failed = true;
        return;
    }
    for (char *end; (end = strchr(paragraph, '\n'));)
        *end = ' ';
    terminal_wrap(&(struct terminal){.width = usable_columns(style)}, paragraph, at, indent, out);
    free(paragraph);
}

/* Paragraphs; a line that begins with a space is kept as it is. */
static void put_paragraphs(struct bytes *out, struct help_style style, const char *text, unsigned indent)
{
    while (*text) {
        if (*text == '\n') {
            bytes_put_u8(out, '\n');
            text++;
            continue;
        }
        const char *end = *text == ' ' ? strchr(text, '\n') : strstr(text, "\n\n");
        const char *kept_line = *text == ' ' ? NULL : strstr(text, "\n ");
        if (kept_line && (!end || kept_line < end))
            end = kept_line;
        size_t size = end ? (size_t)(end - text) : strlen(text);
        put_spaces(out, indent);
        if (*text == ' ')
            bytes_putf(out, "%.*s\n", (int)size, text);
        else
            put_filled(out, style, text, size, indent, indent);
        text += size + (end != NULL);
    }
}

/* Two columns: a label, then words from column `column` on. */
static void put_row(struct bytes *out, struct help_style style, const char *label, const char *words,
                    unsigned column)
{
    unsigned width = (unsigned)terminal_columns(label);
    put_spaces(out, 2);
    put_colored(out, style, CYAN, label);
    if (2 + width + 2 > column) {
        bytes_put_u8(out, '\n');
        put_spaces(out, column);
    } else {
        put_spaces(out, column - 2 - width);
    }
    put_filled(out, style, words, strlen(words), column, column);
}

static void put_heading(struct bytes *out, struct help_style style, const char *text)
{
    bytes_put_u8(out, '\n');
    put_colored(out, style, BOLD, text);
    bytes_put_u8(out, '\n');
}

/* Words about one option. */

static void put_choices(struct bytes *out, const struct option *option, const char *between)
{
    for (const char *const *choice = option->choices; *choice; choice++)
        bytes_putf(out, "%s%s", choice == option->choices ? "" : between, *choice);
}

void help_option_name(struct bytes *out, const struct command *command, const struct option *option)
{
    bytes_putf(out, "--%s%s", options_is_negative(command, option) ? "no-" : "", option->name);
    if (option->kind == OPTION_OPEN)
        bytes_putf(out, "[=%s]", option->argument);
    if (!options_has_value(option->kind))
        return;
    bytes_put_u8(out, ' ');
    if (option->argument || !option->choices)
        bytes_put_text(out, option->argument ? option->argument : "VALUE");
    else
        put_choices(out, option, "|");
}

static bool names_all_choices(const struct option *option)
{
    if (!option->argument)
        return true;
    for (const char *const *choice = option->choices; *choice; choice++)
        if (!strstr(option->help, *choice))
            return false;
    return true;
}

static void put_size(struct bytes *out, int64_t size)
{
    static const char *const units[] = {"", "k", "M", "G", "T"};
    unsigned unit = 0;
    for (; size && size % 1024 == 0 && unit < 4; unit++)
        size /= 1024;
    bytes_putf(out, "%" PRId64 "%s", size, units[unit]);
}

/* The default in words; nothing when it is empty, off, 0, or below 0, which stands for "no limit". */
static void put_default(struct bytes *out, const struct option *option, const void *value)
{
    switch (option->kind) {
    case OPTION_TEXT:
    case OPTION_CHOICE:
        if (*(const char *const *)value)
            bytes_put_text(out, *(const char *const *)value);
        break;
    case OPTION_NUMBER:
        if (*(const int64_t *)value > 0)
            bytes_putf(out, "%" PRId64, *(const int64_t *)value);
        break;
    case OPTION_SIZE:
        if (*(const int64_t *)value > 0)
            put_size(out, *(const int64_t *)value);
        break;
    case OPTION_REAL:
        if (*(const double *)value > 0)
            bytes_putf(out, "%g", *(const double *)value);
        break;
    default:
        break;
    }
}

void help_option_words(struct bytes *out, const struct command *command, const struct option *option)
{
    bytes_put_text(out, option->help);
    if (option->choices && !names_all_choices(option)) {
        bytes_put_text(out, " One of: ");
        put_choices(out, option, ", ");
        bytes_put_u8(out, '.');
    }
    const void *value = options_default(command, option);
    if (!value || strstr(option->help, "default"))
        return;
    struct bytes shown = {0};
    put_default(&shown, option, value);
    if (shown.size)
        bytes_putf(out, " [default: %.*s]", (int)shown.size, (const char *)shown.data);
    bytes_clear(&shown);
}

/* One command. */

static void put_label(struct bytes *out, const struct command *command, const struct option *option)
{
    if (option->letter)
        bytes_putf(out, "-%c, ", option->letter);
    else
        bytes_put_text(out, "    ");
    help_option_name(out, command, option);
}

static bool is_shown(const struct option *option)
{
    return option->kind != OPTION_HEADING && option->help;
}

/* The column where the words begin: behind the widest label that is not too wide. */
static unsigned words_column(const struct command *command, struct help_style style)
{
    unsigned widest = 0, room = usable_columns(style) * 3 / 8;
    room = room > WIDEST_NAME ? WIDEST_NAME : room;
    const struct option *tables[] = {command->options, options_common_table};
    for (int table = 0; table < 2; table++)
        for (const struct option *option = tables[table]; option && option->name; option++) {
            struct bytes label = {0};
            put_label(&label, command, option);
            unsigned width = (unsigned)label.size;
            if (is_shown(option) && width <= room && width > widest)
                widest = width;
            bytes_clear(&label);
        }
    return widest + 4;
}

static void put_options(struct bytes *out, struct help_style style, const struct command *command,
                        const struct option *table, unsigned column)
{
    for (const struct option *option = table; option && option->name; option++) {
        if (option->kind == OPTION_HEADING)
            put_heading(out, style, option->name);
        if (!is_shown(option))
            continue;
        struct bytes label = {0}, words = {0};
        put_label(&label, command, option);
        bytes_put_u8(&label, 0);
        help_option_words(&words, command, option);
        bytes_put_u8(&words, 0);
        if (!label.failed && !words.failed)
            put_row(out, style, (const char *)label.data, (const char *)words.data, column);
        bytes_clear(&label);
        bytes_clear(&words);
    }
}

static void put_examples(struct bytes *out, struct help_style style, const char *examples)
{
    put_heading(out, style, "Examples");
    for (const char *line = examples; *line;) {
        size_t size = strcspn(line, "\n"), command = strcspn(line, "\t\n");
        put_spaces(out, 2);
        bytes_putf(out, "%s%.*s%s\n", style.color ? CYAN : "", (int)command, line, style.color ? PLAIN : "");
        if (command < size) {
            put_spaces(out, 6);
            put_filled(out, style, line + command + 1, size - command - 1, 6, 6);
        }
        line += size + (line[size] == '\n');
    }
}

static void put_usage(struct bytes *out, struct help_style style, const struct command *command)
{
    put_colored(out, style, BOLD, "Usage");
    const char *arguments = command->arguments ? command->arguments : "";
    do {
        size_t size = strcspn(arguments, "\n");
        bytes_putf(out, "%s sonde %s [OPTIONS]%s%.*s\n",
                   arguments == command->arguments || !*arguments ? ":" : "      ", command->name,
                   size ? " " : "", (int)size, arguments);
        arguments += size + (arguments[size] == '\n');
    } while (*arguments);
}

void help_command(struct bytes *out, struct help_style style, const struct command *command)
{
    bytes_putf(out, "sonde %s: ", command->name);
    put_filled(out, style, command->summary, strlen(command->summary), 8 + (unsigned)strlen(command->name),
               2);
    bytes_put_u8(out, '\n');
    put_usage(out, style, command);
    if (command->description) {
        bytes_put_u8(out, '\n');
        put_paragraphs(out, style, command->description, 0);
    }
    unsigned column = words_column(command, style);
    bool headed = command->options && command->options->kind == OPTION_HEADING;
    if (command->options && command->options->name && !headed)
        put_heading(out, style, "Options");
    put_options(out, style, command, command->options, column);
    put_heading(out, style, "Options of every command");
    put_options(out, style, command, options_common_table, column);
    if (command->examples)
        put_examples(out, style, command->examples);
}

/* All commands. */

const char *help_next_group(const char *group)
{
    static const char *const order[] = {"Record", "Look", "Convert", "Help", NULL};
    const char *const *next = order;
    while (group && *next && strcmp(*next++, group) != 0)
        ;
    return *next;
}

static void put_group(struct bytes *out, struct help_style style, const char *group, unsigned column)
{
    bool headed = false;
    for (const struct command *const *command = sonde_commands; *command; command++) {
        if (strcmp((*command)->group, group) != 0)
            continue;
        if (!headed)
            put_heading(out, style, group);
        headed = true;
        put_row(out, style, (*command)->name, (*command)->summary, column);
    }
}

static unsigned commands_column(void)
{
    unsigned widest = 6;
    for (const struct command *const *command = sonde_commands; *command; command++)
        if (strlen((*command)->name) > widest)
            widest = (unsigned)strlen((*command)->name);
    return widest + 4;
}

void help_overview(struct bytes *out, struct help_style style, bool brief)
{
    put_colored(out, style, BOLD, "sonde");
    bytes_put_text(out, " " SONDE_VERSION ": ");
    bytes_putf(out, "%s\n\n", help_summary);
    put_colored(out, style, BOLD, "Usage");
    bytes_put_text(out, ": sonde COMMAND [OPTIONS] [ARGUMENTS]\n");
    unsigned column = commands_column();
    for (const char *group = help_next_group(NULL); group; group = help_next_group(group))
        put_group(out, style, group, column);
    if (brief) {
        bytes_put_text(out, "\nTry it: ");
        put_colored(out, style, CYAN, "sonde trace script.py");
        bytes_put_text(out, ", then ");
        put_colored(out, style, CYAN, "sonde report");
        bytes_put_text(out, ". More: sonde COMMAND --help\n");
        return;
    }
    put_heading(out, style, "Options of every command");
    put_options(out, style, &(struct command){0}, options_common_table, 20);
    put_row(out, style, "    --version", "Print the version (without a command).", 20);
    bytes_put_u8(out, '\n');
    put_paragraphs(out, style, help_rules, 0);
    bytes_put_text(out, "\n'sonde COMMAND --help' tells more about one command.\n");
}
