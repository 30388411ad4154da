/*
 * run_metas: what a recording says of its own run: at the beginning by which command, where and when, and how; at the end,
 * which names that were asked for meant nothing.
 */
#ifndef SONDE_CLI_RUN_METAS_H
#define SONDE_CLI_RUN_METAS_H

struct output_context;
struct recorder_result;
struct run_options;
struct run_ranks;
struct target;
struct writer;

/* What it says that with; all borrowed. */
struct run_metas {
    const struct run_options *options;
    const struct target *target;
    const struct output_context *context;
    const struct run_ranks *ranks;
};

void run_metas_begin(struct writer *writer, const struct run_metas *metas);
/* Marks that meant nothing are told on standard error, too. */
void run_metas_end(struct writer *writer, const struct run_options *options,
                   const struct recorder_result *recorded);

#endif
