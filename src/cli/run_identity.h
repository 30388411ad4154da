/*
 * run_identity: what all ranks of one run agree on without talking to each other: a name for the run and a key. Two
 * runs never have the same key at the same time. It is made, in this order, of
 *
 *   SONDE_RUN_ID                             the user's word
 *   the job and step of Slurm                slurm-1234.0; when the job was requeued, slurm-1234.0.r1
 *   the launcher's process on this host      20261116-045512-4711, when all ranks are on it: its start and its number
 *   what the launcher tells all its ranks    flux-f2Qk9, openmpi-3f9c2d1a: an id of the run, or the address at which
 *                                            its daemons find it
 *   the launcher's process on this host      20261116-045512-4711-node7, when nothing ties the hosts together
 *
 * In the last case each host gets a run of its own: to guess which of two runs a rank belongs to would mix them.
 */
#ifndef SONDE_CLI_RUN_IDENTITY_H
#define SONDE_CLI_RUN_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

struct rank;

#define RUN_IDENTITY_SIZE 64

struct run_identity {
    char id[RUN_IDENTITY_SIZE]; /* only letters that are safe in names of files */
    char key[512];
    const char *source; /* in words, static: "the step of Slurm" */
    int64_t started_s;  /* the launcher, in real time */
    bool is_lasting;    /* no later run will have the same key, for years */
};

void run_identity_find(const struct rank *rank, const char *host, struct run_identity *identity);

#endif
