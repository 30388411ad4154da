#include "cli/completion.h"

#include <stdbool.h>
#include <string.h>

#include "base/bytes.h"
#include "cli/options.h"

/* What a shell offers for an option's value. */
enum offer { OFFER_NOTHING, OFFER_CHOICES, OFFER_FOLDERS, OFFER_FILES };

static enum offer offer_of(const struct option *option)
{
    const char *argument = option->argument ? option->argument : "";
    if (option->choices)
        return OFFER_CHOICES;
    if (strstr(argument, "DIR") || strstr(argument, "FOLDER"))
        return OFFER_FOLDERS;
    return strstr(argument, "FILE") || strstr(argument, "PATH") ? OFFER_FILES : OFFER_NOTHING;
}

/* Each option that a command shows, own and common, with the dashes and "no-" as they are typed. */
typedef void each_option(struct bytes *out, const struct command *command, const struct option *option,
                         const char *name);

static void for_options(struct bytes *out, const struct command *command, each_option *each)
{
    const struct option *tables[] = {command->options, options_common_table};
    for (int table = 0; table < 2; table++)
        for (const struct option *option = tables[table]; option && option->name; option++) {
            if (option->kind == OPTION_HEADING || !option->help)
                continue;
            struct bytes name = {0};
            bytes_putf(&name, "%s%s", options_is_negative(command, option) ? "no-" : "", option->name);
            bytes_put_u8(&name, 0);
            if (!name.failed)
                each(out, command, option, (const char *)name.data);
            bytes_clear(&name);
        }
}

static void put_choices(struct bytes *out, const struct option *option)
{
    for (const char *const *choice = option->choices; *choice; choice++)
        bytes_putf(out, "%s%s", choice == option->choices ? "" : " ", *choice);
}

static void put_command_names(struct bytes *out)
{
    for (const struct command *const *command = sonde_commands; *command; command++)
        bytes_putf(out, "%s%s", command == sonde_commands ? "" : " ", (*command)->name);
}

/* The first sentence, with the characters that the shell's quoting minds protected by a backslash. */
static void put_sentence(struct bytes *out, const char *text, const char *minded)
{
    for (; *text; text++) {
        if (*text == '.' && (text[1] == ' ' || text[1] == '\0'))
            return;
        if (*text == '\'')
            bytes_put_text(out, "'\\'");
        else if (strchr(minded, *text))
            bytes_put_u8(out, '\\');
        bytes_put_u8(out, (uint8_t)*text);
    }
}

/* bash */

static void bash_name(struct bytes *out, const struct command *command, const struct option *option,
                      const char *name)
{
    (void)command;
    bytes_putf(out, " --%s", name);
    if (option->letter)
        bytes_putf(out, " -%c", option->letter);
}

static void bash_value_name(struct bytes *out, const struct command *command, const struct option *option,
                            const char *name)
{
    if (options_has_value(option->kind) && option->kind != OPTION_TARGET)
        bash_name(out, command, option, name);
}

static void bash_offer(struct bytes *out, const struct command *command, const struct option *option,
                       const char *name)
{
    enum offer offer = offer_of(option);
    if (!options_has_value(option->kind) || offer == OFFER_FILES)
        return; /* files are what bash offers anyway */
    bytes_putf(out, "    %s:--%s", command->name, name);
    if (option->letter)
        bytes_putf(out, " | %s:-%c", command->name, option->letter);
    if (offer == OFFER_CHOICES) {
        bytes_put_text(out, ") COMPREPLY=($(compgen -W '");
        put_choices(out, option);
        bytes_put_text(out, "' -- \"$word\")) ;;\n");
    } else if (offer == OFFER_FOLDERS) {
        bytes_put_text(out, ") COMPREPLY=($(compgen -d -- \"$word\")) ;;\n");
    } else {
        bytes_put_text(out, ") compopt +o default ;;\n");
    }
}

static void bash_command(struct bytes *out, const struct command *command)
{
    bytes_putf(out, "    %s)\n        options='", command->name);
    for_options(out, command, bash_name);
    bytes_put_text(out, " '\n        with_value='");
    for_options(out, command, bash_value_name);
    bytes_putf(out, " '\n        target=%d\n", command->has_target);
    if (strcmp(command->name, "help") == 0)
        bytes_put_text(out, "        plain=$commands\n");
    bytes_put_text(out, "        ;;\n");
}

void completion_bash(struct bytes *out)
{
    bytes_put_text(out,
                   "# bash completion for sonde, made by `sonde help --completion bash`\n"
                   "_sonde()\n{\n"
                   "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
                   "    local command=${COMP_WORDS[1]} options='' with_value='' plain='' target=0 index\n"
                   "    local commands='");
    put_command_names(out);
    bytes_put_text(out, "'\n"
                        "    COMPREPLY=()\n"
                        "    if ((COMP_CWORD == 1)); then\n"
                        "        COMPREPLY=($(compgen -W \"$commands --help --version\" -- \"$word\"))\n"
                        "        return\n"
                        "    fi\n"
                        "    # bash makes '=' a word of its own\n"
                        "    if [[ $word == '=' ]]; then\n"
                        "        word=''\n"
                        "    elif [[ $before == '=' ]]; then\n"
                        "        before=${COMP_WORDS[COMP_CWORD - 2]}\n"
                        "    fi\n"
                        "    case $command in\n");
    for (const struct command *const *command = sonde_commands; *command; command++)
        bash_command(out, *command);
    bytes_put_text(out, "    *) return ;;\n"
                        "    esac\n"
                        "    # behind the target's name the words are its own\n"
                        "    for ((index = 2; target && index < COMP_CWORD; index++)); do\n"
                        "        case ${COMP_WORDS[index]} in\n"
                        "        -- | -m | -c) return ;;\n"
                        "        =) ((index++)) ;;\n"
                        "        -*)\n"
                        "            [[ $with_value == *\" ${COMP_WORDS[index]} \"* &&\n"
                        "                ${COMP_WORDS[index + 1]} != '=' ]] && ((index++))\n"
                        "            ;;\n"
                        "        *) return ;;\n"
                        "        esac\n"
                        "    done\n"
                        "    case $command:$before in\n");
    for (const struct command *const *command = sonde_commands; *command; command++)
        for_options(out, *command, bash_offer);
    bytes_put_text(out, "    *)\n"
                        "        [[ $with_value == *\" $before \"* ]] && return\n"
                        "        if [[ $word == -* ]]; then\n"
                        "            COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
                        "        elif [[ $plain ]]; then\n"
                        "            COMPREPLY=($(compgen -W \"$plain\" -- \"$word\"))\n"
                        "        fi\n"
                        "        ;;\n"
                        "    esac\n"
                        "}\n"
                        "complete -o default -F _sonde sonde\n");
}

/* zsh */

static void zsh_option(struct bytes *out, const struct command *command, const struct option *option,
                       const char *name)
{
    (void)command;
    bool value = options_has_value(option->kind);
    const char *many = option->kind == OPTION_LIST || option->kind == OPTION_COUNT ? "*" : "";
    bytes_put_text(out, " \\\n            ");
    if (option->letter && !*many)
        bytes_putf(out, "'(-%c --%s)'", option->letter, name);
    if (*many)
        bytes_put_text(out, "'*'");
    if (option->letter)
        bytes_putf(out, "{-%c%s,--%s%s}", option->letter, value ? "+" : "", name, value ? "=" : "");
    else
        bytes_putf(out, "--%s%s", name, value ? "=" : "");
    bytes_put_text(out, "'[");
    put_sentence(out, option->help, "[]:\\");
    bytes_put_text(out, "]");
    if (value)
        bytes_putf(out, ":%s:", option->argument ? option->argument : "value");
    if (value && offer_of(option) == OFFER_CHOICES) {
        bytes_put_u8(out, '(');
        put_choices(out, option);
        bytes_put_u8(out, ')');
    } else if (value && offer_of(option) >= OFFER_FOLDERS) {
        bytes_put_text(out, offer_of(option) == OFFER_FOLDERS ? "_files -/" : "_files");
    }
    bytes_put_u8(out, '\'');
}

void completion_zsh(struct bytes *out)
{
    bytes_put_text(out, "#compdef sonde\n# zsh completion for sonde, made by `sonde help --completion zsh`\n"
                        "_sonde()\n{\n    local -a commands\n    commands=(\n");
    for (const struct command *const *command = sonde_commands; *command; command++) {
        bytes_putf(out, "        '%s:", (*command)->name);
        put_sentence(out, (*command)->summary, ":\\");
        bytes_put_text(out, "'\n");
    }
    bytes_put_text(out, "    )\n"
                        "    if ((CURRENT == 2)); then\n"
                        "        _describe -t commands 'sonde command' commands\n"
                        "        return\n"
                        "    fi\n"
                        "    local command=$words[2]\n"
                        "    shift words\n"
                        "    ((CURRENT--))\n"
                        "    case $command in\n");
    for (const struct command *const *command = sonde_commands; *command; command++) {
        bytes_putf(out, "    %s)\n        _arguments -s", (*command)->name);
        for_options(out, *command, zsh_option);
        if (strcmp((*command)->name, "help") == 0)
            bytes_put_text(out, " \\\n            ':command:{_describe command commands}'");
        else
            bytes_putf(out, " \\\n            '*:%sfile:_files'", (*command)->has_target ? ":" : "");
        bytes_put_text(out, "\n        ;;\n");
    }
    bytes_put_text(out, "    esac\n}\n_sonde \"$@\"\n");
}

/* fish */

static void fish_option(struct bytes *out, const struct command *command, const struct option *option,
                        const char *name)
{
    bytes_putf(out, "complete -c sonde -n '__fish_seen_subcommand_from %s' -l %s", command->name, name);
    if (option->letter)
        bytes_putf(out, " -s %c", option->letter);
    if (options_has_value(option->kind)) {
        enum offer offer = offer_of(option);
        bytes_put_text(out, offer == OFFER_FILES ? " -r -F" : " -x");
        if (offer == OFFER_CHOICES) {
            bytes_put_text(out, " -a '");
            put_choices(out, option);
            bytes_put_u8(out, '\'');
        } else if (offer == OFFER_FOLDERS) {
            bytes_put_text(out, " -a '(__fish_complete_directories)'");
        }
    }
    bytes_put_text(out, " -d '");
    put_sentence(out, option->help, "\\");
    bytes_put_text(out, "'\n");
}

void completion_fish(struct bytes *out)
{
    bytes_put_text(out, "# fish completion for sonde, made by `sonde help --completion fish`\n");
    for (const struct command *const *command = sonde_commands; *command; command++) {
        bytes_putf(out, "complete -c sonde -f -n __fish_use_subcommand -a %s -d '", (*command)->name);
        put_sentence(out, (*command)->summary, "\\");
        bytes_put_text(out, "'\n");
    }
    bytes_put_text(out, "complete -c sonde -f -n '__fish_seen_subcommand_from help' -a '");
    put_command_names(out);
    bytes_put_text(out, "'\n");
    for (const struct command *const *command = sonde_commands; *command; command++)
        for_options(out, *command, fish_option);
}
