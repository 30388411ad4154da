/*
 * rank_processes: the processes of this host that are ranks, by the environment that they were started with: recorded by
 * sonde or not. Shells, wrappers and children of a rank carry its number, too; which of them runs Python is for others
 * to find out.
 *
 * A zeroed struct is an empty list; it owns its array.
 */
#ifndef SONDE_CLI_RANK_PROCESSES_H
#define SONDE_CLI_RANK_PROCESSES_H

#include <stddef.h>
#include <stdint.h>

struct err;

struct rank_process {
    uint32_t pid;
    uint32_t rank, size; /* size 0 = not known */
    uint32_t launcher;   /* the process that started the ranks: the same for those of one run */
};

struct rank_processes {
    struct rank_process *items;
    size_t count;
};

/* What the word names: a run folder (those that are being recorded into it), a job of Slurm ("1234" or "1234.0"), or a
 * launcher's process. NULL = all ranks of this user. A number is a process when ranks are below that, else a job. */
int rank_processes_find(struct rank_processes *processes, const char *word, struct err *err);
void rank_processes_clear(struct rank_processes *processes);

#endif
