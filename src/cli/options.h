/*
 * options: command-line parsing from tables. The tables are also what `--help`, the man pages and the shell
 * completions are made from, so that none of them can be out of date.
 *
 * A command declares a struct of values and an array of `struct option` that says which field each option
 * fills. Long names mean the same in every command; short letters belong to the command (`sonde help
 * --letters` prints the table of letters). Long names may be abbreviated while unambiguous; a wrong one gets
 * a suggestion. Text values point into the words that were parsed; lists are owned by the values
 * (options_clear).
 */
#ifndef SONDE_CLI_OPTIONS_H
#define SONDE_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

enum option_kind {
    OPTION_FLAG,   /* bool; --no-NAME turns it off. One that is on by default is shown as --no-NAME */
    OPTION_COUNT,  /* int: how often it was given */
    OPTION_TEXT,   /* const char * */
    OPTION_LIST,   /* struct option_list: may be given several times; replaces a list from a weaker source */
    OPTION_NUMBER, /* int64_t */
    OPTION_SIZE,   /* int64_t bytes; accepts 64k, 10M, 2G */
    OPTION_REAL,   /* double */
    OPTION_CHOICE, /* const char *, one of `choices` */
    OPTION_OPEN, /* const char *: "" for --NAME alone; a value only as --NAME=VALUE. false and no give NULL */
    OPTION_TARGET,  /* const char *; the rest of the line belongs to the target (-m MODULE, -c CODE) */
    OPTION_HEADING, /* no option: `name` is a heading above the rows that follow, in --help and the manual */
};

struct option_list {
    const char **items;
    size_t count;
};

struct option {
    const char *name; /* long name without dashes; NULL ends the table */
    char letter;      /* 0 = none; that of a flag which is on by default turns it off */
    enum option_kind kind;
    const char *argument;       /* as shown: "FILE"; NULL for flags. FILE and DIR also steer completion */
    size_t offset;              /* of the field in the command's values */
    const char *const *choices; /* NULL-ended, for OPTION_CHOICE */
    const char *help;           /* one or two sentences; NULL = works, but is not shown */
};

/* A row in a macro of rows that several tables have. */
#define OPTION_ROW(name, letter, kind, argument, offset, choices, help)                                      \
    {                                                                                                        \
        name, letter, kind, argument, offset, choices, help                                                  \
    }

/* One command: a row in the table of main.c, defined in its cmd_*.c. */
struct command {
    const char *name;
    const char *group;       /* heading in `sonde --help`: "Record", "Look", "Convert", "Help" */
    const char *summary;     /* one line */
    const char *arguments;   /* synopsis after the options: "FILE..."; alternatives on lines of their own */
    const char *description; /* paragraphs separated by blank lines */
    const char *examples;    /* lines "command\tcomment" */
    const struct option *options; /* NULL = none of its own */
    const void *defaults;         /* initial values; NULL = zeros */
    size_t values_size;
    bool has_target; /* parsing stops at the first word that is no option, or at `--` */
    int (*run)(void *values, int argc, char **argv); /* argv: what is left; returns the exit code */
};

/* Every command, NULL-ended; in main.c. */
extern const struct command *const sonde_commands[];

/* NULL when there is none of that name. */
const struct command *options_find_command(const char *name);

/* What every command accepts. One program run parses one line, so it is one struct for all. */
struct options_common {
    bool help;
    bool quiet;
    bool verbose;
    const char *color; /* "auto", "always", "never" */
};
extern struct options_common options_common;
extern const struct option options_common_table[];

/* Fills `values` from `defaults` and argv: the words after the command's name. On return argc/argv hold what
 * is left. For a command with has_target, a `--` stays as the first of them: it says that a full command line
 * follows. -1 with err on a mistake; 1 when help was asked for (`--help`, `-h`). */
int options_parse(const struct command *command, void *values, int *argc, char ***argv, struct err *err);

/* The two halves of options_parse, for weaker sources (config.c) to come between them. */
void options_defaults(const struct command *command, void *values);
int options_read(const struct command *command, void *values, int *argc, char ***argv, struct err *err);
/* Whether the line that was read last has the option, which a weaker source may have given, too: who typed two that
 * contradict each other is told so, but a default gives way. */
bool options_is_typed(const char *name);
/* Frees the lists. */
void options_clear(const struct command *command, void *values);

/* One pass over one source; a list's first value in a pass replaces what a weaker source gave. */
#define OPTIONS_MAX 128 /* rows in one table */
struct options_pass {
    const struct command *command;
    void *values;
    bool given[2][OPTIONS_MAX]; /* by table (own, common), then row */
};

/* Sets the option of that exact name ("no-NAME" for flags too). `value` NULL = none given.
 * 1 when the command has no such option; -1 with err when the value is wrong. */
int options_set(struct options_pass *pass, const char *name, const char *value, struct err *err);

/* The row of that exact long name in the command or the common table, or NULL. */
const struct option *options_find(const struct command *command, const char *name);

/* Whether the kind needs a value, which may be the next word. */
static inline bool options_has_value(enum option_kind kind)
{
    return kind != OPTION_FLAG && kind != OPTION_COUNT && kind != OPTION_OPEN && kind != OPTION_HEADING;
}

/* The default value of the option's field; NULL for fields of the common table. */
const void *options_default(const struct command *command, const struct option *option);

/* Shown as --no-NAME, because it is on by default. */
bool options_is_negative(const struct command *command, const struct option *option);

#endif
