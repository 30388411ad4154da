/*
 * launcher: the process on this host that started the ranks: mpirun, its daemon, slurmstepd, torchrun, or the shell
 * that did it by hand. It is the nearest ancestor that is not itself (a part of) the same rank, which shells and
 * wrapper scripts between the two are.
 */
#ifndef SONDE_CLI_LAUNCHER_H
#define SONDE_CLI_LAUNCHER_H

#include <stdint.h>

struct rank;

struct launcher {
    uint32_t pid;         /* 0 = not known */
    uint64_t start_ticks; /* after the machine's start; with the pid it names one process */
    int64_t start_s;      /* in real time; when it is not known, this program's own start */
    char port[128]; /* where the launcher's daemons on all hosts find it, by its command line; "" = nowhere */
};

/* The number of that process for any process of a rank. */
uint32_t launcher_of(uint32_t pid, const struct rank *rank);
/* For this program's own rank. */
void launcher_find(const struct rank *rank, struct launcher *launcher);

#endif
