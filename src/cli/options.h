/*
 * options: command-line parsing from tables. The tables are also what `--help`, the man pages and the shell
 * completions are made from, so that none of them can be out of date.
 *
 * A command declares a struct of values and an array of `struct option` that says which field each option
 * fills. Long names mean the same in every command; short letters belong to the command (CONTRIBUTING.md has
 * the table of letters). Long names may be abbreviated while unambiguous; a wrong one gets a suggestion.
 */
#ifndef SONDE_CLI_OPTIONS_H
#define SONDE_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

enum option_kind {
    OPTION_FLAG,   /* bool; --no-NAME turns it off again */
    OPTION_COUNT,  /* int: how often it was given */
    OPTION_TEXT,   /* const char * */
    OPTION_LIST,   /* struct option_list: may be given several times */
    OPTION_NUMBER, /* int64_t */
    OPTION_SIZE,   /* int64_t bytes; accepts 64k, 10M, 2G */
    OPTION_REAL,   /* double */
    OPTION_CHOICE, /* const char *, one of `choices` */
    OPTION_TARGET, /* const char *; the rest of the line belongs to the target (-m MODULE, -c CODE) */
};

struct option_list {
    const char **items;
    size_t count;
};

struct option {
    const char *name; /* long name without dashes; NULL ends the table */
    char letter;      /* 0 = none */
    enum option_kind kind;
    const char *argument; /* as shown: "FILE"; NULL for flags */
    size_t offset;        /* of the field in the command's values */
    const char *const *choices; /* NULL-ended, for OPTION_CHOICE */
    const char *help;           /* one or two sentences */
};

/* One command: a row in the table of main.c, defined in its cmd_*.c. */
struct command {
    const char *name;
    const char *group;     /* heading in `sonde --help`: "Record", "Look", "Convert", "Help" */
    const char *summary;   /* one line */
    const char *arguments; /* synopsis after the options: "FILE..." */
    const char *description; /* paragraphs separated by blank lines */
    const char *examples;    /* lines "command\tcomment" */
    const struct option *options;
    const void *defaults; /* initial values */
    size_t values_size;
    bool has_target; /* parsing stops at the first word that is no option, or at `--` */
    int (*run)(void *values, int argc, char **argv); /* argv: what is left; returns the exit code */
};

/* Every command, NULL-ended; in main.c. */
extern const struct command *const sonde_commands[];

/* Fills `values` from `defaults` and argv. On return argc/argv hold what is left (after `--` too).
 * -1 with err on a mistake; 1 when help was asked for (`--help`, `-h`). */
int options_parse(const struct command *command, void *values, int *argc, char ***argv, struct err *err);

#endif
