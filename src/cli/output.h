/*
 * output: where results go. A path may hold %r (rank), %p (process id), %h (host), %{NAME} (environment
 * variable) and %% (a percent sign); without a path the name is made from the program's and the run id. A
 * recording never replaces what is being written by someone else, nor a file that is no recording.
 */
#ifndef SONDE_CLI_OUTPUT_H
#define SONDE_CLI_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytes;
struct err;

#define OUTPUT_RUN_ID_SIZE 64

/* Who is writing. Fill it once for a run with output_context_init, so that all its files carry one run id. */
struct output_context {
    char run_id[OUTPUT_RUN_ID_SIZE]; /* "20261115-122430-k7": local time; names sort by it. Of an array job's
                                        task with ".task-17" behind it; of ranks, what run_identity says */
    char host[64];                   /* without the domain */
    uint32_t rank;                   /* UINT32_MAX = not a rank; %r then gives 0 */
    uint64_t pid;
};
void output_context_init(struct output_context *context);

/* The pattern without its escapes, as a new string. */
int output_expand(const char *pattern, const struct output_context *context, char **path, struct err *err);
/* The path that `pattern` stands for, as a new string. NULL or "" = "NAME.<run id>SUFFIX"; a folder = that
 * name in it. NAME is program_name ("dir/x.py" → "x"); the suffix is ".sonde" or another format's. */
int output_path(const char *pattern, const char *program_name, const char *suffix,
                const struct output_context *context, char **path, struct err *err);

/*
 * Opens the path for a new recording: created, or emptied when it is a recording that nobody writes. A second
 * writer of the same path (a rank beside this one, a run at the same time) gets ".<rank>.<pid>" appended:
 * then *path is replaced by the new name, and standard error told. The file is locked while the descriptor is
 * open. -1 with err.
 */
int output_create(char **path, const struct output_context *context, struct err *err);
/* That name, as a new string; NULL when there is no memory. */
char *output_second_name(const char *path, const struct output_context *context);
/* Whether somebody holds that lock. */
bool output_is_being_written(int fd);

/* The format: `format` when given, else what the path's suffix says (".prof" → "pstats"), else `otherwise`.
 * Either name may be NULL. */
const char *output_format(const char *format, const char *path, const char *otherwise);

/* Writes all to the file ("-" = standard output), through a temporary name, so that a failure leaves what was
 * there. */
int output_write(const char *path, const void *data, size_t size, struct err *err);

/* Prints the text as a command's whole result, and empties it; returns the exit code. */
int output_print(struct bytes *text);

#endif
