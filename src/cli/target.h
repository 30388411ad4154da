/*
 * target: what the user wants to run → the command line to execute. The interpreter runs the program itself, so
 * that nothing about it differs from a run without sonde.
 */
#ifndef SONDE_CLI_TARGET_H
#define SONDE_CLI_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/options.h"

struct err;

struct target {
    char **argv; /* NULL-ended */
    size_t count, capacity;
    char *name; /* for the recording: "x" of dir/x.py */
};

/* How it was named: `pid`, a process that runs already (the command line is then what it was started with); `module`
 * (-m) or `code` (-c) with argv as arguments; else argv itself: SCRIPT ARGS, or `--` and a whole command line. */
struct target_request {
    uint32_t pid; /* 0 = none */
    const char *module;
    const char *code;
    int argc;
    char **argv;
};

/* The value of --pid where it is not given; target_pid makes 0 of it. */
#define TARGET_NO_PID INT64_MIN
static inline uint32_t target_pid(int64_t pid)
{
    return pid == TARGET_NO_PID ? 0 : (uint32_t)pid;
}
int target_check_pid(int64_t pid, struct err *err);

/* What the options say of it, and whether the Pythons that it starts are recorded, too. */
struct target_options {
    int64_t pid; /* some commands have no such option */
    bool follow;
    const char *module, *code;
};

#define TARGET_OPTIONS_DEFAULTS                                                                              \
    {                                                                                                        \
        .pid = TARGET_NO_PID, .follow = true                                                                 \
    }

static inline struct target_request target_request_of(const struct target_options *options, int argc,
                                                      char **argv)
{
    return (struct target_request){.pid = target_pid(options->pid),
                                   .module = options->module,
                                   .code = options->code,
                                   .argc = argc,
                                   .argv = argv};
}

/* A process that runs already, or something to start, not both; `argc` words are left of the command line. */
int target_check_options(const struct target_options *options, int argc, struct err *err);

/* The synopsis of commands that start a program. */
#define TARGET_ARGUMENTS "SCRIPT [ARG...]\n-m MODULE [ARG...]\n-c CODE [ARG...]\n-- COMMAND [ARG...]"

/* Rows of the option table; `field` is the struct target_options in `type`. */
#define TARGET_OPTIONS(type, field)                                                                          \
    OPTION_ROW("follow", 0, OPTION_FLAG, NULL, offsetof(type, field.follow), NULL,                           \
               "Do not record the Python processes that the program starts."),                               \
        OPTION_ROW("module", 'm', OPTION_TARGET, "MODULE", offsetof(type, field.module), NULL,               \
                   "Run a module, as python -m does. The rest of the line belongs to it."),                  \
        OPTION_ROW("code", 'c', OPTION_TARGET, "CODE", offsetof(type, field.code), NULL,                     \
                   "Run code, as python -c does. The rest of the line belongs to it.")

/* Whether pytest is what is to run: by its name. */
bool target_is_pytest(const struct target_request *request);
int target_resolve(const struct target_request *request, struct target *target, struct err *err);
void target_clear(struct target *target);
/* The executable of that name on PATH, as a new string; NULL where there is none. */
char *target_find_program(const char *name);

#endif
