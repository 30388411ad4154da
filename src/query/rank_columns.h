/*
 * rank_columns: what answers about ranks have in common: what the table is of, how one function is spread, and the columns
 * of a picture that is too narrow for all ranks.
 */
#ifndef SONDE_QUERY_RANK_COLUMNS_H
#define SONDE_QUERY_RANK_COLUMNS_H

#include <stdint.h>

#include "analyse/rank_stats.h"

struct answer;

/* measure, unit, sampled, rank_count, expected. */
void rank_columns_put_table(struct answer *answer, const struct rank_table *table);
/* mean, min, min_rank, max, max_rank, std, imbalance, imbalance_share, present: ranks by their numbers. */
void rank_columns_put_stats(struct answer *answer, const struct rank_table *table,
                            const struct rank_stats *stats);

/* How many columns the ranks take where at most `wanted` are to be had; 0 = as many as there are ranks. */
uint32_t rank_columns_count(const struct rank_table *table, uint32_t wanted);
/* The first rank (its place) of a column; that of the column behind the last is the number of ranks. */
static inline uint32_t rank_columns_first(const struct rank_table *table, uint32_t column, uint32_t count)
{
    return (uint32_t)((uint64_t)column * table->rank_count / count);
}
/* Array `column_first`: those places, one more than there are columns. */
void rank_columns_put_firsts(struct answer *answer, const struct rank_table *table, uint32_t count);

/* The mean of the ranks of each column, and where not NULL the least and the most. */
void rank_columns_fill(const struct rank_table *table, const struct rank_cells *cells, enum rank_value value,
                       uint32_t count, double *mean, double *least, double *most);

#endif
