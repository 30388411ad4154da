/*
 * rank_stats: how something is spread over the ranks of a rank_table.
 *
 * All ranks that were recorded count: one that has no cell took 0. (Ranks whose files are lost are not known, and count
 * nowhere.) The deviation is that of all ranks, not of a sample of them. `imbalance` is what the slowest rank takes above
 * the mean, so the most that perfect balance would save; `imbalance_share` is CrayPat's, (max - mean) / max · N / (N - 1):
 * 0 = all equal, 1 = one rank does everything.
 */
#ifndef SONDE_ANALYSE_RANK_STATS_H
#define SONDE_ANALYSE_RANK_STATS_H

#include <stdint.h>

#include "analyse/rank_table.h"

enum rank_value { RANK_TOTAL, RANK_SELF, RANK_CALLS, RANK_SAMPLES, RANK_USEFUL /* total without MPI */ };

struct rank_stats {
    double sum, mean, min, max, deviation;
    double imbalance, imbalance_share;
    uint32_t min_rank, max_rank; /* places in the table's ranks; of several the first */
    uint32_t present;            /* ranks that have a cell */
};

double rank_stats_value(const struct rank_cell *cell, enum rank_value value);
struct rank_stats rank_stats_of(const struct rank_table *table, const struct rank_cells *cells,
                                enum rank_value value);
/* Of one number for each rank. */
struct rank_stats rank_stats_of_reals(const double *values, uint32_t count);

/* How many ranks have how much: `counts[i]` of `bins` equal parts from `low` to `high`, both included. */
void rank_stats_histogram(const struct rank_table *table, const struct rank_cells *cells,
                          enum rank_value value, double low, double high, uint32_t *counts, uint32_t bins);

#endif
