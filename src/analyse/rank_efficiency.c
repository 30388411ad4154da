#include "analyse/rank_efficiency.h"

#include <stdlib.h>

#include "base/err.h"

/* Calls of MPI are measured by the wall clock; samples are of threads that ran, and a rank that waits may have given its
 * CPU away: the one cannot be taken from the other. */
static double useful_ns(const struct rank_table *table, const struct rank_row *rank)
{
    bool by_wall = table->mpi_is_measured && table->sampled && rank->wall_ns;
    uint64_t all_ns = by_wall ? rank->wall_ns : rank->busiest;
    return all_ns > rank->busiest_mpi ? (double)(all_ns - rank->busiest_mpi) : 0;
}

static void conclude(struct rank_efficiency *efficiency)
{
    const struct rank_stats *useful = &efficiency->useful;
    /* What one thread did cannot take longer than the run; clocks of calls and of processes differ a little. */
    double wall_ns = (double)efficiency->wall_ns > useful->max ? (double)efficiency->wall_ns : useful->max;
    efficiency->is_known = useful->max > 0;
    if (!efficiency->is_known)
        return;
    efficiency->load_balance = useful->mean / useful->max;
    efficiency->communication = useful->max / wall_ns;
    efficiency->parallel = useful->mean / wall_ns;
}

int rank_efficiency_of(const struct rank_table *table, struct rank_efficiency *efficiency, struct err *err)
{
    *efficiency = (struct rank_efficiency){.knows_mpi = table->has_mpi};
    if (table->rank_count < 2 || measure_is_memory(table->measure))
        return 0;
    double *values = malloc(table->rank_count * sizeof *values);
    if (!values)
        return err_set(err, "not enough memory for %u ranks", table->rank_count);
    for (uint32_t i = 0; i < table->rank_count; i++) {
        values[i] = useful_ns(table, &table->ranks[i]);
        if (table->ranks[i].wall_ns > efficiency->wall_ns)
            efficiency->wall_ns = table->ranks[i].wall_ns;
    }
    efficiency->useful = rank_stats_of_reals(values, table->rank_count);
    free(values);
    conclude(efficiency);
    return 0;
}
