/*
 * target: what the user wants to run → the command line to execute. The interpreter runs the program itself, so
 * that nothing about it differs from a run without sonde.
 */
#ifndef SONDE_CLI_TARGET_H
#define SONDE_CLI_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* Whether pytest is what is to run: by its name. */
bool target_is_pytest(const struct target_request *request);
int target_resolve(const struct target_request *request, struct target *target, struct err *err);
void target_clear(struct target *target);
/* The executable of that name on PATH, as a new string; NULL where there is none. */
char *target_find_program(const char *name);

#endif
