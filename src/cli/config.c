#include "cli/config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/err.h"
#include "cli/message.h"
#include "cli/options.h"
#include "cli/toml.h"

#define LEVELS_MAX         64
#define VARIABLE_BYTES_MAX 65536

/* Takes `text` over; NULL when memory ran out. */
static char *keep(struct config *config, char *text)
{
    char **texts = text ? realloc(config->texts, (config->count + 1) * sizeof *texts) : NULL;
    if (!texts) {
        free(text);
        return NULL;
    }
    config->texts = texts;
    return config->texts[config->count++] = text;
}

void config_clear(struct config *config)
{
    for (size_t index = 0; index < config->count; index++)
        free(config->texts[index]);
    free(config->texts);
    *config = (struct config){0};
}

/* The row of that name in whichever command has it. */
static const struct option *find_anywhere(const char *name)
{
    const struct option *option = NULL;
    for (const struct command *const *command = sonde_commands; *command && !option; command++)
        option = options_find(*command, name);
    return option;
}

static int set_option(struct config *config, struct options_pass *pass, const char *name, const char *value,
                      struct err *err)
{
    const struct option *option = options_find(pass->command, name);
    if (option && (option->kind == OPTION_TARGET || strcmp(name, "help") == 0))
        return err_set(err, "'%s' belongs on the command line", name);
    char *kept = value ? keep(config, strdup(value)) : NULL;
    if (value && !kept)
        return err_set(err, "out of memory");
    return options_set(pass, name, kept, err);
}

/* pyproject.toml */

struct file_pass {
    struct config *config;
    const char *path;
    bool own; /* reading [tool.sonde.COMMAND], which is stronger than [tool.sonde] */
    bool found;
    struct options_pass pass;
};

static int set_item(struct file_pass *file, const char *name, const struct toml_item *item, struct err *err)
{
    const struct option *option = options_find(file->pass.command, name);
    if (!option)
        return 0;
    if (item->kind == TOML_OTHER)
        return err_set(err, "'%s' needs a string, a number, true, false or an array of strings", name);
    if (item->kind == TOML_ARRAY && option->kind != OPTION_LIST)
        return err_set(err, "'%s' takes one value, not an array", name);
    int result = 0;
    for (size_t index = 0; index < item->count && result == 0; index++)
        result = set_option(file->config, &file->pass, name, item->values[index], err);
    return result;
}

/* Warnings come with the first of the two readings only. */
static void tell_unknown(const struct file_pass *file, const struct toml_item *item, const char *table)
{
    if (!file->own)
        message_warn("%s:%u: '%s' in [tool.sonde%s%s] is no option of any command", file->path, item->line,
                     item->path[item->depth - 1], table ? "." : "", table ? table : "");
}

static int visit(void *context, const struct toml_item *item, struct err *err)
{
    struct file_pass *file = context;
    if (item->depth < 3 || strcmp(item->path[0], "tool") != 0 || strcmp(item->path[1], "sonde") != 0)
        return 0;
    file->found = true;
    const char *table = item->depth > 3 ? item->path[2] : NULL, *name = item->path[item->depth - 1];
    const struct command *owner = table ? options_find_command(table) : NULL;
    if (item->depth > 4 || (table && !owner) || !(owner ? options_find(owner, name) : find_anywhere(name))) {
        tell_unknown(file, item, table);
        return 0;
    }
    if (file->own ? owner != file->pass.command : table != NULL)
        return 0;
    struct err inner = {0};
    if (set_item(file, name, item, &inner) != 0)
        return err_set(err, "%s:%u: %s", file->path, item->line, inner.text);
    return 0;
}

/* 1 when the file has settings of ours, 0 when not. */
static int apply_file(struct config *config, const struct command *command, void *values, const char *path,
                      struct err *err)
{
    if (access(path, R_OK) != 0)
        return 0;
    struct bytes text = {0};
    struct file_pass all = {config, path, false, false, {.command = command, .values = values}};
    struct file_pass own = {config, path, true, false, {.command = command, .values = values}};
    int result = bytes_read_file(&text, path, TOML_BYTES_MAX, err);
    if (result == 0)
        result = toml_read((const char *)text.data, text.size, path, visit, &all, err);
    if (result == 0 && all.found)
        result = toml_read((const char *)text.data, text.size, path, visit, &own, err);
    bytes_clear(&text);
    return result == 0 ? all.found : -1;
}

/* From the folder upward, until a file has settings of ours. */
static int apply_files(struct config *config, const struct command *command, void *values, const char *folder,
                       struct err *err)
{
    char *at = realpath(folder, NULL);
    int result = 0;
    for (int level = 0; at && result == 0 && level < LEVELS_MAX; level++) {
        char *path;
        if (asprintf(&path, "%s/pyproject.toml", strcmp(at, "/") == 0 ? "" : at) < 0) {
            result = err_set(err, "out of memory");
            break;
        }
        result = apply_file(config, command, values, path, err);
        free(path);
        char *slash = strrchr(at, '/');
        if (!slash || !slash[1])
            break;
        slash[slash == at] = '\0';
    }
    free(at);
    return result < 0 ? -1 : 0;
}

/* SONDE_OPTIONS */

/* One word into `out`; *text is moved behind it. */
static int split_word(const char **text, struct bytes *out, struct err *err)
{
    char quote = '\0';
    const char *at = *text;
    for (; *at && (quote || !strchr(" \t\n", *at)); at++) {
        bool escaped = *at == '\\' && quote != '\'' && at[1] && (!quote || strchr("\"\\", at[1]));
        if (escaped)
            bytes_put_u8(out, (uint8_t) * ++at);
        else if (quote ? *at == quote : *at == '"' || *at == '\'')
            quote = quote ? '\0' : *at;
        else
            bytes_put_u8(out, (uint8_t)*at);
    }
    *text = at;
    if (quote)
        return err_set(err, "a quote (%c) is not closed", quote);
    bytes_put_u8(out, 0);
    return 0;
}

int config_split(struct config *config, const char *text, char ***words, size_t *count, struct err *err)
{
    if (strlen(text) > VARIABLE_BYTES_MAX)
        return err_set(err, "longer than the limit of %d characters", VARIABLE_BYTES_MAX);
    *count = 0;
    *words = calloc(strlen(text) / 2 + 2, sizeof **words);
    int result = *words ? 0 : err_set(err, "out of memory");
    for (text += strspn(text, " \t\n"); *text && result == 0; text += strspn(text, " \t\n")) {
        struct bytes word = {0};
        size_t size;
        result = split_word(&text, &word, err);
        char *kept = result == 0 && !word.failed ? keep(config, (char *)bytes_take(&word, &size)) : NULL;
        if (kept)
            (*words)[(*count)++] = kept;
        else
            result = err_set(err, "out of memory");
        bytes_clear(&word);
    }
    if (result != 0) {
        free(*words);
        *words = NULL;
    }
    return result;
}

/* Letters mean different things in different commands, so here only full names are unambiguous. */
static int apply_word(struct config *config, struct options_pass *pass, char ***words, struct err *err)
{
    char *word = *(*words)++;
    if (strncmp(word, "--", 2) != 0 || !word[2])
        return err_set(err, "'%s' is no long option; write names in full, such as --quiet", word);
    char *name = word + 2, *value = strchr(name, '=');
    if (value)
        *value++ = '\0';
    const struct option *option = options_find(pass->command, name);
    if (!option)
        option = find_anywhere(name);
    if (!option) {
        message_warn("SONDE_OPTIONS: '--%s' is no option of any command", name);
        return 0;
    }
    if (!value && options_has_value(option->kind) && **words)
        value = *(*words)++;
    return set_option(config, pass, name, value, err) < 0 ? -1 : 0;
}

static int apply_variable(struct config *config, const struct command *command, void *values,
                          const char *variable, struct err *err)
{
    struct options_pass pass = {.command = command, .values = values};
    struct err inner = {0};
    char **words;
    size_t count;
    int result = config_split(config, variable, &words, &count, &inner);
    if (result == 0) {
        for (char **at = words; *at && result == 0;)
            result = apply_word(config, &pass, &at, &inner);
        free(words);
    }
    return result == 0 ? 0 : err_set(err, "SONDE_OPTIONS: %s", inner.text);
}

int config_apply(struct config *config, const struct command *command, void *values, const char *folder,
                 const char *variable, struct err *err)
{
    if (folder && apply_files(config, command, values, folder, err) != 0)
        return -1;
    return variable ? apply_variable(config, command, values, variable, err) : 0;
}
