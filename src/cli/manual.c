#include "cli/manual.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/bytes.h"
#include "cli/help.h"
#include "cli/options.h"

/* Text, so that roff changes nothing in it: hyphens stay what one types, and no line is taken for a request. */
static void put_escaped(struct bytes *out, const char *text, size_t size)
{
    bool line_start = out->size == 0 || out->data[out->size - 1] == '\n';
    for (size_t index = 0; index < size; index++) {
        if (line_start && (text[index] == '.' || text[index] == '\''))
            bytes_put_text(out, "\\&");
        if (text[index] == '\\')
            bytes_put_text(out, "\\e");
        else if (text[index] == '-')
            bytes_put_text(out, "\\-");
        else
            bytes_put_u8(out, (uint8_t)text[index]);
        line_start = text[index] == '\n';
    }
}

static void put_text(struct bytes *out, const char *text)
{
    put_escaped(out, text, strlen(text));
}

static void put_title(struct bytes *out, const char *name, const char *suffix, const char *summary)
{
    bytes_put_text(out, ".TH SONDE");
    for (const char *at = suffix; *at; at++)
        put_escaped(out, &(char){(char)toupper((unsigned char)*at)}, 1);
    bytes_put_text(out, " 1 \"\" \"sonde " SONDE_VERSION "\" \"User Commands\"\n.SH NAME\n");
    put_text(out, name);
    put_text(out, suffix);
    bytes_put_text(out, " \\- ");
    put_text(out, summary);
    bytes_put_u8(out, '\n');
}

/* Paragraphs of a description; lines that begin with a space are kept as they are. */
static void put_paragraphs(struct bytes *out, const char *text)
{
    bool kept = false;
    while (*text) {
        size_t size = strcspn(text, "\n");
        bool keep = *text == ' ';
        if (keep != kept)
            bytes_put_text(out, keep ? ".PP\n.nf\n" : ".fi\n");
        kept = keep;
        if (size == 0)
            bytes_put_text(out, ".PP\n");
        put_escaped(out, text, size);
        if (size)
            bytes_put_u8(out, '\n');
        text += size + (text[size] == '\n');
    }
    if (kept)
        bytes_put_text(out, ".fi\n");
}

/* "--output FILE": the name bold, the argument in italics. */
static void put_option_name(struct bytes *out, const struct command *command, const struct option *option)
{
    struct bytes name = {0};
    help_option_name(&name, command, option);
    bytes_put_u8(&name, 0);
    const char *text = name.failed ? "" : (const char *)name.data;
    size_t size = strcspn(text, " ");
    if (option->letter)
        bytes_putf(out, "\\fB\\-%c\\fR, ", option->letter);
    bytes_put_text(out, "\\fB");
    put_escaped(out, text, size);
    bytes_put_text(out, "\\fR");
    if (text[size]) {
        bytes_put_text(out, " \\fI");
        put_text(out, text + size + 1);
        bytes_put_text(out, "\\fR");
    }
    bytes_clear(&name);
}

static void put_option(struct bytes *out, const struct command *command, const struct option *option)
{
    struct bytes words = {0};
    help_option_words(&words, command, option);
    bytes_put_text(out, ".TP\n");
    put_option_name(out, command, option);
    bytes_put_u8(out, '\n');
    put_escaped(out, (const char *)words.data, words.size);
    bytes_put_u8(out, '\n');
    bytes_clear(&words);
}

static void put_options(struct bytes *out, const struct command *command, const struct option *table)
{
    for (const struct option *option = table; option && option->name; option++) {
        if (option->kind == OPTION_HEADING) {
            bytes_put_text(out, ".SS ");
            put_text(out, option->name);
            bytes_put_u8(out, '\n');
        } else if (option->help) {
            put_option(out, command, option);
        }
    }
}

static void put_synopsis(struct bytes *out, const struct command *command)
{
    const char *arguments = command->arguments ? command->arguments : "";
    bytes_put_text(out, ".SH SYNOPSIS\n");
    for (bool first = true; first || *arguments; first = false) {
        size_t size = strcspn(arguments, "\n");
        bytes_putf(out, "%s.B sonde %s\n[\\fIOPTIONS\\fR]", first ? "" : ".br\n", command->name);
        if (size)
            bytes_put_u8(out, ' ');
        put_escaped(out, arguments, size);
        bytes_put_u8(out, '\n');
        arguments += size + (arguments[size] == '\n');
    }
}

static void put_examples(struct bytes *out, const char *examples)
{
    bytes_put_text(out, ".SH EXAMPLES\n");
    for (const char *line = examples; *line;) {
        size_t size = strcspn(line, "\n"), command = strcspn(line, "\t\n");
        bytes_put_text(out, ".TP\n.B ");
        put_escaped(out, line, command);
        bytes_put_u8(out, '\n');
        if (command < size)
            put_escaped(out, line + command + 1, size - command - 1);
        bytes_put_u8(out, '\n');
        line += size + (line[size] == '\n');
    }
}

static void put_environment(struct bytes *out)
{
    bytes_put_text(
        out, ".SH ENVIRONMENT\n"
             ".TP\n.B SONDE_OPTIONS\nOptions put before those of the command line, by their long names, "
             "quoted as in a shell.\n"
             ".TP\n.B NO_COLOR\nWhen set, no colours unless they are asked for with "
             "\\fB\\-\\-color\\fR.\n"
             ".TP\n.B COLUMNS\nThe width of the text where there is no terminal to ask.\n"
             ".SH FILES\n"
             ".TP\n.I pyproject.toml\nThe nearest one upward from the working directory that has "
             "[tool.sonde] (for all commands) or [tool.sonde.COMMAND]. Keys are long option names.\n"
             ".SH EXIT STATUS\n"
             "0 on success, 2 on a mistake or an unusable file. A command that runs a program exits "
             "as the program did.\n");
}

void manual_command(struct bytes *out, const struct command *command)
{
    char suffix[80] = "-";
    strncat(suffix, command->name, sizeof suffix - 2);
    put_title(out, "sonde", suffix, command->summary);
    put_synopsis(out, command);
    if (command->description) {
        bytes_put_text(out, ".SH DESCRIPTION\n");
        put_paragraphs(out, command->description);
    }
    bytes_put_text(out, ".SH OPTIONS\n");
    put_options(out, command, command->options);
    bytes_put_text(out, ".SS Options of every command\n");
    put_options(out, command, options_common_table);
    if (command->examples)
        put_examples(out, command->examples);
    bytes_put_text(out, ".SH SEE ALSO\n.BR sonde (1)\n");
}

void manual_overview(struct bytes *out)
{
    put_title(out, "sonde", "", help_summary);
    bytes_put_text(out, ".SH SYNOPSIS\n.B sonde\n\\fICOMMAND\\fR [\\fIOPTIONS\\fR] [\\fIARGUMENTS\\fR]\n"
                        ".SH DESCRIPTION\n");
    put_paragraphs(out, help_rules);
    bytes_put_text(out, ".SH COMMANDS\n");
    for (const char *group = help_next_group(NULL); group; group = help_next_group(group))
        for (const struct command *const *command = sonde_commands; *command; command++)
            if (strcmp((*command)->group, group) == 0) {
                bytes_putf(out, ".TP\n.BR sonde\\-%s (1)\n", (*command)->name);
                put_text(out, (*command)->summary);
                bytes_put_u8(out, '\n');
            }
    bytes_put_text(out, ".SH OPTIONS\n");
    put_options(out, &(struct command){0}, options_common_table);
    bytes_put_text(out, ".TP\n\\fB\\-\\-version\\fR\nPrint the version.\n");
    put_environment(out);
}
