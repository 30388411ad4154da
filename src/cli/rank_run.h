/*
 * rank_run: reads a run with many ranks into a rank_table: a file after the other, each of which is let go before the next,
 * or one recording that holds all ranks.
 */
#ifndef SONDE_CLI_RANK_RUN_H
#define SONDE_CLI_RANK_RUN_H

#include <stdbool.h>

#include "analyse/rank_table.h"
#include "cli/selection_options.h"

struct input_paths;

/* What is looked at in each recording, as it was typed. */
struct rank_run_view {
    struct selection_part part;
    struct option_list sort; /* for the measures among the keys */
    const char *measure, *range;
    bool idle, gil, internals;
    bool paths;    /* the table is to have them */
    bool any_kind; /* also of lines and memory over time, which have reports of their own */
};

/* What was read; a zeroed struct is empty. The table borrows the recording. */
struct rank_run {
    struct rank_table table;
    struct recording mpi; /* what ranks did with one another, where it comes from several files */
};

#define RANK_RUN_NONE 1

/* Each gives RANK_RUN_NONE when these are not several ranks; clear the run in any case. */
int rank_run_read_files(struct rank_run *run, const struct rank_run_view *view,
                        const struct input_paths *paths, struct err *err);
/* The recording must outlive the run; it is narrowed to what is looked at. */
int rank_run_take_in(struct rank_run *run, const struct rank_run_view *view, struct recording *recording,
                     struct err *err);
void rank_run_clear(struct rank_run *run);

/* Leaves out files whose names say that they are of other ranks ("rank-07.sonde"), so that they need not be read. */
int rank_run_choose_files(const char *ranks, struct input_paths *paths, struct err *err);

#endif
