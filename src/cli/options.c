#include "cli/options.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "cli/suggest.h"

static const char *const color_choices[] = {"auto", "always", "never", NULL};

const struct option options_common_table[] = {
    {"quiet", 0, OPTION_FLAG, NULL, offsetof(struct options_common, quiet), NULL,
     "Print results, warnings and errors only."},
    {"verbose", 0, OPTION_FLAG, NULL, offsetof(struct options_common, verbose), NULL,
     "Say what is being done, on standard error."},
    {"color", 0, OPTION_CHOICE, "WHEN", offsetof(struct options_common, color), color_choices,
     "Colour the output: auto (on a terminal, unless NO_COLOR is set), always or never."},
    {"help", 'h', OPTION_FLAG, NULL, offsetof(struct options_common, help), NULL, "Show this help."},
    {NULL},
};

struct options_common options_common = {.color = "auto"};

/* An option as it was written: which row, of which table, and whether as --no-NAME. */
struct match {
    const struct option *option;
    int table; /* 0 = the command's own, 1 = common */
    bool negated;
};

static const struct option no_options[] = {{NULL}};

static const struct option *table_of(const struct command *command, int table)
{
    if (table == 1)
        return options_common_table;
    return command->options ? command->options : no_options;
}

static bool can_negate(const struct option *option)
{
    return option->kind == OPTION_FLAG && strncmp(option->name, "no-", 3) != 0 &&
           strcmp(option->name, "help") != 0;
}

const struct command *options_find_command(const char *name)
{
    for (const struct command *const *command = sonde_commands; *command; command++)
        if (strcmp((*command)->name, name) == 0)
            return *command;
    return NULL;
}

static bool find_exact(const struct command *command, const char *name, struct match *match)
{
    for (int table = 0; table < 2; table++)
        for (const struct option *option = table_of(command, table); option->name; option++) {
            if (option->kind == OPTION_HEADING)
                continue;
            bool negated = can_negate(option) && strncmp(name, "no-", 3) == 0;
            if (strcmp(name, option->name) != 0 && !(negated && strcmp(name + 3, option->name) == 0))
                continue;
            *match = (struct match){option, table, strcmp(name, option->name) != 0};
            return true;
        }
    return false;
}

const struct option *options_find(const struct command *command, const char *name)
{
    struct match match;
    return find_exact(command, name, &match) ? match.option : NULL;
}

static bool find_letter(const struct command *command, char letter, struct match *match)
{
    for (int table = 0; table < 2; table++)
        for (const struct option *option = table_of(command, table); option->name; option++)
            if (option->letter == letter && option->kind != OPTION_HEADING) {
                *match = (struct match){option, table, options_is_negative(command, option)};
                return true;
            }
    return false;
}

/* Calls `visit` for every long name that the command accepts, "no-NAME" included. */
typedef void visit_name(void *context, const char *name, struct match match);

static void each_name(const struct command *command, visit_name *visit, void *context)
{
    for (int table = 0; table < 2; table++)
        for (const struct option *option = table_of(command, table); option->name; option++) {
            if (option->kind == OPTION_HEADING)
                continue;
            visit(context, option->name, (struct match){option, table, false});
            char negative[80] = "no-";
            if (can_negate(option) && strlen(option->name) < sizeof negative - 4)
                visit(context, strcat(negative, option->name), (struct match){option, table, true});
        }
}

/* What an abbreviation may stand for, and the nearest name in case it stands for nothing. */
struct search {
    const char *word;
    unsigned prefix_count;
    struct match match;
    char names[256]; /* the candidates, for the message */
    char nearest[80];
    struct suggestion suggestion;
};

static void search_visit(void *context, const char *name, struct match match)
{
    struct search *search = context;
    suggest_try(&search->suggestion, name);
    if (search->suggestion.nearest == name) { /* may be a temporary: keep a copy */
        strncpy(search->nearest, name, sizeof search->nearest - 1);
        search->suggestion.nearest = search->nearest;
    }
    if (strncmp(name, search->word, strlen(search->word)) != 0)
        return;
    search->match = match;
    size_t used = strlen(search->names);
    if (used + strlen(name) + 5 < sizeof search->names) {
        strcat(search->names, search->prefix_count ? ", --" : "--");
        strcat(search->names, name);
    }
    search->prefix_count++;
}

static int find_long(const struct command *command, const char *name, struct match *match, struct err *err)
{
    if (find_exact(command, name, match))
        return 0;
    struct search search = {.word = name, .suggestion = {.word = name}};
    each_name(command, search_visit, &search);
    if (search.prefix_count == 1) {
        *match = search.match;
        return 0;
    }
    if (search.prefix_count > 1)
        return err_set(err, "option '--%s' is ambiguous: it could be %s", name, search.names);
    if (search.suggestion.nearest)
        return err_set(err, "unknown option '--%s'; did you mean '--%s'?", name, search.suggestion.nearest);
    return err_set(err, "unknown option '--%s'", name);
}

/* Setting values. */

static int parse_number(const char *name, const char *text, int64_t *value, struct err *err)
{
    char *end;
    errno = 0;
    bool hexadecimal =
        text[0] == '0' && (text[1] == 'x' || text[1] == 'X'); /* so some tools show processes */
    long long number = strtoll(text, &end, hexadecimal ? 16 : 10);
    if (end == text || *end)
        return err_set(err, "--%s needs a whole number, not '%s'", name, text);
    if (errno == ERANGE)
        return err_set(err, "--%s: %s is too large", name, text);
    *value = number;
    return 0;
}

/* From a file: `verbosity = 2` stands for giving it twice. */
static int parse_count(const char *name, const char *text, int *value, struct err *err)
{
    int64_t number = 0;
    if (parse_number(name, text, &number, err) != 0)
        return -1;
    if (number < 0 || number > 1000)
        return err_set(err, "--%s: %s is out of range", name, text);
    *value = (int)number;
    return 0;
}

static int parse_real(const char *name, const char *text, double *value, struct err *err)
{
    char *end;
    double number = strtod(text, &end);
    if (end == text || *end || !isfinite(number))
        return err_set(err, "--%s needs a number, not '%s'", name, text);
    *value = number;
    return 0;
}

static int parse_size(const char *name, const char *text, int64_t *value, struct err *err)
{
    static const char units[] = "kMGT";
    char *end;
    double number = strtod(text, &end);
    bool good = end != text && isfinite(number) && number >= 0;
    const char *unit = *end ? strchr(units, *end == 'K'   ? 'k'
                                            : *end == 'm' ? 'M'
                                            : *end == 'g' ? 'G'
                                                          : *end)
                            : NULL;
    if (unit) {
        number *= (double)((int64_t)1 << (10 * (unit - units + 1)));
        end++;
        end += *end == 'i';
    }
    end += *end == 'B';
    if (!good || *end)
        return err_set(err, "--%s needs a size such as 64k, 10M or 2G, not '%s'", name, text);
    if (number >= 9e18)
        return err_set(err, "--%s: %s is too large", name, text);
    *value = (int64_t)number;
    return 0;
}

static int parse_flag(const char *name, const char *text, bool *value, struct err *err)
{
    bool yes = !text || strcmp(text, "true") == 0 || strcmp(text, "yes") == 0;
    if (!yes && strcmp(text, "false") != 0 && strcmp(text, "no") != 0)
        return err_set(err, "--%s takes no value (or true or false), not '%s'", name, text);
    *value = yes;
    return 0;
}

/* It may have a value, and need not. */
static void parse_open(const char *text, const char **value)
{
    bool off = text && (strcmp(text, "false") == 0 || strcmp(text, "no") == 0);
    bool plain = !text || strcmp(text, "true") == 0 || strcmp(text, "yes") == 0;
    *value = off ? NULL : plain ? "" : text;
}

static int parse_choice(const struct option *option, const char *text, const char **value, struct err *err)
{
    struct bytes known = {0};
    struct suggestion suggestion = {.word = text};
    for (const char *const *choice = option->choices; *choice; choice++) {
        if (strcmp(*choice, text) == 0) {
            *value = *choice;
            bytes_clear(&known);
            return 0;
        }
        suggest_try(&suggestion, *choice);
        bytes_putf(&known, "%s%s", known.size ? ", " : "", *choice);
    }
    bytes_put_u8(&known, 0);
    const char *words = known.failed ? "its choices" : (const char *)known.data;
    if (suggestion.nearest)
        err_set(err, "--%s: unknown choice '%s'; did you mean '%s'? (one of: %s)", option->name, text,
                suggestion.nearest, words);
    else
        err_set(err, "--%s: unknown choice '%s'; it is one of: %s", option->name, text, words);
    bytes_clear(&known);
    return -1;
}

static int add_to_list(struct option_list *list, const char *text, struct err *err)
{
    const char **items = realloc(list->items, (list->count + 1) * sizeof *items);
    if (!items)
        return err_set(err, "out of memory");
    list->items = items;
    list->items[list->count++] = text;
    return 0;
}

static int set_field(struct options_pass *pass, const struct match *match, const char *text, struct err *err)
{
    const struct option *option = match->option;
    char *base = match->table == 1 ? (char *)&options_common : pass->values;
    void *field = base + option->offset;
    bool *given = &pass->given[match->table][option - table_of(pass->command, match->table)];
    bool first = !*given;
    *given = true;
    switch (option->kind) {
    case OPTION_FLAG:
        if (parse_flag(option->name, text, field, err) != 0)
            return -1;
        *(bool *)field ^= match->negated;
        return 0;
    case OPTION_COUNT:
        return text ? parse_count(option->name, text, field, err) : ((*(int *)field)++, 0);
    case OPTION_LIST:
        if (first)
            ((struct option_list *)field)->count = 0;
        return add_to_list(field, text, err);
    case OPTION_NUMBER:
        return parse_number(option->name, text, field, err);
    case OPTION_SIZE:
        return parse_size(option->name, text, field, err);
    case OPTION_REAL:
        return parse_real(option->name, text, field, err);
    case OPTION_OPEN:
        return parse_open(text, field), 0;
    case OPTION_CHOICE:
        return parse_choice(option, text, field, err);
    default:
        *(const char **)field = text;
        return 0;
    }
}

int options_set(struct options_pass *pass, const char *name, const char *value, struct err *err)
{
    struct match match;
    if (!find_exact(pass->command, name, &match))
        return 1;
    if (options_has_value(match.option->kind) && !value)
        return err_set(err, "--%s needs a value: %s", name, match.option->argument);
    return set_field(pass, &match, value, err);
}

/* The command line. */

struct line {
    struct options_pass pass;
    char **words; /* those still to read */
    int left;
    bool ended; /* the rest belongs to the target */
};

/* The value in the next word. One that looks like an option is more often a forgotten value. */
static int next_word(struct line *line, const struct option *option, const char **value, struct err *err)
{
    const char *shown = option->argument ? option->argument : "VALUE";
    if (line->left == 0)
        return err_set(err, "--%s needs a value: --%s %s", option->name, option->name, shown);
    if (option->kind != OPTION_TARGET && strncmp(line->words[0], "--", 2) == 0 && line->words[0][2])
        return err_set(err, "--%s needs a value before '%s'; write --%s=%s if that is the %s", option->name,
                       line->words[0], option->name, line->words[0], shown);
    *value = line->words[0];
    line->words++;
    line->left--;
    return 0;
}

static int read_long(struct line *line, const char *word, struct err *err)
{
    char name[80];
    size_t size = strcspn(word, "=");
    if (size >= sizeof name)
        return err_set(err, "unknown option '--%.40s...'", word);
    memcpy(name, word, size);
    name[size] = '\0';
    struct match match;
    if (find_long(line->pass.command, name, &match, err) != 0)
        return -1;
    const char *value = word[size] == '=' ? word + size + 1 : NULL;
    if (match.option->kind == OPTION_COUNT && value)
        return err_set(err, "--%s takes no value", match.option->name);
    if (options_has_value(match.option->kind) && !value && next_word(line, match.option, &value, err) != 0)
        return -1;
    line->ended = match.option->kind == OPTION_TARGET;
    return set_field(&line->pass, &match, value, err);
}

static int read_letters(struct line *line, const char *letters, struct err *err)
{
    for (; *letters; letters++) {
        struct match match;
        if (!find_letter(line->pass.command, *letters, &match))
            return err_set(err, "unknown option '-%c'", *letters);
        const char *value = NULL;
        bool takes = options_has_value(match.option->kind);
        if (takes && letters[1])
            value = letters + 1 + (letters[1] == '='); /* -oFILE and, as other tools have it, -o=FILE */
        else if (takes && next_word(line, match.option, &value, err) != 0)
            return -1;
        if (set_field(&line->pass, &match, value, err) != 0)
            return -1;
        line->ended = match.option->kind == OPTION_TARGET;
        if (takes)
            break;
    }
    return 0;
}

/* The line that was read last; there is one in a run of the program. */
static struct options_pass typed;

bool options_is_typed(const char *name)
{
    const struct option *rows = typed.command ? typed.command->options : NULL;
    for (size_t i = 0; rows && rows[i].name; i++)
        if (strcmp(rows[i].name, name) == 0)
            return typed.given[0][i];
    return false;
}

int options_read(const struct command *command, void *values, int *argc, char ***argv, struct err *err)
{
    struct line line = {.pass = {.command = command, .values = values}, .words = *argv, .left = *argc};
    char **kept = *argv; /* plain words gather at the front, in order */
    int kept_count = 0;
    while (line.left > 0 && !line.ended) {
        char *word = *line.words;
        bool plain = word[0] != '-' || word[1] == '\0';
        bool end = strcmp(word, "--") == 0;
        if (command->has_target && (plain || end))
            break;
        line.words++;
        line.left--;
        if (end)
            break;
        if (plain)
            kept[kept_count++] = word;
        else if ((word[1] == '-' ? read_long(&line, word + 2, err) : read_letters(&line, word + 1, err)) != 0)
            return -1;
        if (options_common.help)
            return 1;
    }
    typed = line.pass;
    /* With a target nothing was kept, and what is left stays where it is, so that the program sees its own
     * words unchanged. */
    if (command->has_target) {
        *argv = line.words;
        *argc = line.left;
        return 0;
    }
    memmove(kept + kept_count, line.words, (size_t)line.left * sizeof *kept);
    *argc = kept_count + line.left;
    return 0;
}

void options_defaults(const struct command *command, void *values)
{
    if (command->defaults)
        memcpy(values, command->defaults, command->values_size);
    else if (command->values_size)
        memset(values, 0, command->values_size);
}

int options_parse(const struct command *command, void *values, int *argc, char ***argv, struct err *err)
{
    options_defaults(command, values);
    return options_read(command, values, argc, argv, err);
}

void options_clear(const struct command *command, void *values)
{
    for (const struct option *option = table_of(command, 0); option->name; option++)
        if (option->kind == OPTION_LIST) {
            struct option_list *list = (void *)((char *)values + option->offset);
            free(list->items);
            *list = (struct option_list){0};
        }
}

const void *options_default(const struct command *command, const struct option *option)
{
    const struct option *own = table_of(command, 0);
    while (own->name && own != option)
        own++;
    return own->name && command->defaults ? (const char *)command->defaults + option->offset : NULL;
}

bool options_is_negative(const struct command *command, const struct option *option)
{
    const bool *value = can_negate(option) ? options_default(command, option) : NULL;
    return value && *value;
}
