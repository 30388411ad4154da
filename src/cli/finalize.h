/*
 * finalize: gives the native addresses of a recording their names, by the files that they lie in, and appends
 * the names to the recording. Nothing that is there is touched, so it may be done again, later and elsewhere.
 *
 * A file is believed only when its build id is the recorded one (or, where it has none, its size).
 */
#ifndef SONDE_CLI_FINALIZE_H
#define SONDE_CLI_FINALIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

struct finalize_options {
    const char *const *folders; /* where modules and debug files are looked for, besides the usual places */
    size_t folder_count;
    bool local; /* never ask a debuginfod server */
};

/* What became of one module. */
struct finalize_module {
    char *path;
    char *problem; /* "" = none */
    uint32_t addresses, named, with_lines;
};

struct finalize {
    uint32_t addresses, named, with_lines;
    uint32_t written; /* rows appended */
    struct finalize_module *modules;
    size_t module_count;
};

/* The file that is open here, where nobody else may write it meanwhile. */
int finalize_open_file(int fd, const char *path, const struct finalize_options *options,
                       struct finalize *result, struct err *err);
int finalize_file(const char *path, const struct finalize_options *options, struct finalize *result,
                  struct err *err);
/* Says on standard error what a recording command's user should know of it. */
void finalize_tell(const struct finalize *result);
void finalize_clear(struct finalize *result);

#endif
