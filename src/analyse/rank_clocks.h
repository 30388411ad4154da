/*
 * rank_clocks: the times of all processes on one clock, that of the run's first rank, with an error that is known.
 *
 * A process has told how its clock relates to the first rank's (measured with messages, when MPI began and ended), or is on the
 * same host, where there is one clock for all; else its clock is laid where the ends of those collectives agree best that nobody leaves
 * before the last has come. The error of that is how far they disagree. Owns its rows; a zeroed struct is empty.
 */
#ifndef SONDE_ANALYSE_RANK_CLOCKS_H
#define SONDE_ANALYSE_RANK_CLOCKS_H

#include <stdint.h>

struct err;
struct mpi_groups;
struct recording;

#define RANK_CLOCKS_UNKNOWN UINT64_MAX /* an error: nothing relates the clock to the others */

struct rank_clock {
    uint64_t local_ns; /* here the clock of the run showed reference_ns */
    int64_t reference_ns;
    double drift; /* the clock of the run gains so much on it, per nanosecond */
    uint64_t error_ns;
};

struct rank_clocks {
    struct rank_clock *rows; /* by process */
    uint64_t error_ns;       /* the largest that is known */
    uint32_t unknown;        /* processes with messages whose clock is not */
};

int rank_clocks_build(const struct recording *recording, const struct mpi_groups *groups,
                      struct rank_clocks *clocks, struct err *err);
void rank_clocks_clear(struct rank_clocks *clocks);

int64_t rank_clocks_time(const struct rank_clocks *clocks, uint32_t process, uint64_t local_ns);

#endif
