/*
 * rank_efficiency: how well a parallel run uses its ranks, as POP defines it. Useful is the time outside MPI; of a rank
 * with several threads that of the busiest. load balance = mean useful / most useful; communication = most useful / wall
 * time of the run; parallel efficiency = their product = mean useful / wall time. All are at most 1.
 *
 * Of sampled runs useful time is that of threads that ran: who sleeps or waits for a file does nothing useful. Where the calls
 * of MPI were measured it is all time outside them.
 */
#ifndef SONDE_ANALYSE_RANK_EFFICIENCY_H
#define SONDE_ANALYSE_RANK_EFFICIENCY_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/rank_stats.h"

struct rank_efficiency {
    bool is_known;  /* of time, with at least two ranks that did something useful */
    bool knows_mpi; /* else communication counts as useful, and only the load balance is worth telling */
    struct rank_stats useful; /* ns, over ranks */
    uint64_t wall_ns;         /* of the rank that took longest */
    double parallel, load_balance, communication;
};

int rank_efficiency_of(const struct rank_table *table, struct rank_efficiency *efficiency, struct err *err);

#endif
