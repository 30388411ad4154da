/*
 * run_ranks: what a recording command does differently when it is one of several ranks: its file lies in the run's
 * folder, the recording says which rank it is of, and only the first rank speaks of success. A zeroed struct with
 * rank RANK_NONE is a run without ranks.
 */
#ifndef SONDE_CLI_RUN_RANKS_H
#define SONDE_CLI_RUN_RANKS_H

#include <stdbool.h>

#include "base/rank.h"
#include "cli/run_folder.h"
#include "cli/run_identity.h"

struct err;
struct output_context;
struct run;
struct writer;

struct run_ranks {
    struct rank rank;
    struct run_identity identity; /* empty without ranks */
    struct run_folder folder;     /* without a path when -o names files */
    bool was_quiet;
};

/* Finds the rank and the run, whose id the context gets, and makes or joins its folder. */
int run_ranks_open(struct run_ranks *ranks, const char *output, const char *format, const char *program_name,
                   struct output_context *context, struct err *err);
void run_ranks_clear(struct run_ranks *ranks);

/* The path of this rank's file, as a new string; NULL when there is no folder, or no memory. */
char *run_ranks_file(const struct run_ranks *ranks, const char *suffix);
/* Where the files of all ranks are, with escapes as in -o (for rank_summary), as a new string; NULL likewise. */
char *run_ranks_pattern(const struct run_ranks *ranks);

/* Into the recording: which rank, of how many, who said so. */
void run_ranks_describe(const struct run_ranks *ranks, struct writer *writer);

/* MPI has said which rank this is, maybe another than the launcher did: from now on it counts, and the file at *path,
 * which is in the folder, is called after it. Never takes a name that is there: the second of a name adds rank and
 * process, as it may have done before. */
void run_ranks_correct(struct run_ranks *ranks, uint32_t rank, struct output_context *context,
                       const char *suffix, char **path);

/* Around what a command says at its end: of several ranks that would be said by each. Then the first rank names the
 * folder. */
void run_ranks_hush(struct run_ranks *ranks);
void run_ranks_tell(const struct run_ranks *ranks, const char *wanted, const struct run *run);

#endif
