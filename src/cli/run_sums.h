/*
 * run_sums: runs of many ranks, and TAU's folders, as one recording each, for those who look at files: a word that names one is replaced by a
 * file, in a folder of its own that is gone afterwards, into which the ranks were merged. Owns its words; a zeroed struct is empty.
 */
#ifndef SONDE_CLI_RUN_SUMS_H
#define SONDE_CLI_RUN_SUMS_H

struct err;

struct run_sums {
    char **words; /* as given, but for folders of runs */
    int count;
    char *folder; /* where the sums are; NULL = there are none */
};

int run_sums_make(struct run_sums *sums, int argc, char **argv, struct err *err);
/* Removes the files, too. */
void run_sums_clear(struct run_sums *sums);

#endif
