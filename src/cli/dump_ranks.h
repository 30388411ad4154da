/*
 * dump_ranks: sonde dump --mpi-all: the stacks of all ranks on this host, grouped, run by run. Prints.
 */
#ifndef SONDE_CLI_DUMP_RANKS_H
#define SONDE_CLI_DUMP_RANKS_H

#include <stdbool.h>

struct dump_reader_options;

struct dump_ranks_options {
    const struct dump_reader_options *reading;
    bool json, full_filenames;
};

/* The words name runs, jobs or launchers; none = all ranks of this user. The exit code. */
int dump_ranks_run(const struct dump_ranks_options *options, int argc, char **argv);

#endif
