#include "analyse/rank_stats.h"

#include <math.h>
#include <string.h>

double rank_stats_value(const struct rank_cell *cell, enum rank_value value)
{
    switch (value) {
    case RANK_SELF:
        return (double)cell->self;
    case RANK_CALLS:
        return (double)cell->calls;
    case RANK_SAMPLES:
        return (double)cell->samples;
    case RANK_USEFUL:
        return cell->total > cell->mpi ? (double)(cell->total - cell->mpi) : 0;
    default:
        return (double)cell->total;
    }
}

static void take(struct rank_stats *stats, double value, uint32_t rank, uint32_t taken)
{
    stats->sum += value;
    if (!taken || value < stats->min) {
        stats->min = value;
        stats->min_rank = rank;
    }
    if (!taken || value > stats->max) {
        stats->max = value;
        stats->max_rank = rank;
    }
}

/* `squares`: the sum of the squared distances from the mean. */
static void conclude(struct rank_stats *stats, double squares, uint32_t count)
{
    stats->deviation = count ? sqrt(squares / count) : 0;
    stats->imbalance = stats->max - stats->mean;
    if (stats->max > 0 && count > 1)
        stats->imbalance_share = stats->imbalance / stats->max * count / (count - 1);
}

static uint32_t first_without_cell(const struct rank_cells *cells)
{
    uint32_t rank = 0;
    while (rank < cells->count && cells->rows[rank].rank == rank)
        rank++;
    return rank;
}

struct rank_stats rank_stats_of(const struct rank_table *table, const struct rank_cells *cells,
                                enum rank_value value)
{
    struct rank_stats stats = {.present = cells->count};
    uint32_t count = table->rank_count, absent = count - cells->count;
    double squares = 0;
    for (uint32_t i = 0; i < cells->count; i++)
        take(&stats, rank_stats_value(&cells->rows[i], value), cells->rows[i].rank, i);
    uint32_t first_absent = first_without_cell(cells);
    if (absent && (!cells->count || stats.min > 0 || first_absent < stats.min_rank)) {
        stats.min = 0;
        stats.min_rank = first_absent;
    }
    stats.mean = count ? stats.sum / count : 0;
    for (uint32_t i = 0; i < cells->count; i++) {
        double distance = rank_stats_value(&cells->rows[i], value) - stats.mean;
        squares += distance * distance;
    }
    conclude(&stats, squares + stats.mean * stats.mean * absent, count);
    return stats;
}

struct rank_stats rank_stats_of_reals(const double *values, uint32_t count)
{
    struct rank_stats stats = {0};
    double squares = 0;
    for (uint32_t i = 0; i < count; i++) {
        take(&stats, values[i], i, i);
        stats.present += values[i] > 0;
    }
    stats.mean = count ? stats.sum / count : 0;
    for (uint32_t i = 0; i < count; i++)
        squares += (values[i] - stats.mean) * (values[i] - stats.mean);
    conclude(&stats, squares, count);
    return stats;
}

static uint32_t bin_of(double value, double low, double high, uint32_t bins)
{
    double part = high > low ? (value - low) / (high - low) : 0;
    uint32_t bin = part > 0 ? (uint32_t)(part * bins) : 0;
    return bin < bins ? bin : bins - 1;
}

void rank_stats_histogram(const struct rank_table *table, const struct rank_cells *cells,
                          enum rank_value value, double low, double high, uint32_t *counts, uint32_t bins)
{
    memset(counts, 0, bins * sizeof *counts);
    if (!bins)
        return;
    for (uint32_t i = 0; i < cells->count; i++) {
        double amount = rank_stats_value(&cells->rows[i], value);
        if (amount >= low && amount <= high)
            counts[bin_of(amount, low, high, bins)]++;
    }
    if (low <= 0 && high >= 0)
        counts[bin_of(0, low, high, bins)] += table->rank_count - cells->count;
}
