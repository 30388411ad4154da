#include "analyse/rank_clocks.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "analyse/mpi_groups.h"
#include "base/err.h"
#include "store/mpi_calls.h"
#include "store/recording.h"

void rank_clocks_clear(struct rank_clocks *clocks)
{
    free(clocks->rows);
    *clocks = (struct rank_clocks){0};
}

int64_t rank_clocks_time(const struct rank_clocks *clocks, uint32_t process, uint64_t local_ns)
{
    const struct rank_clock *clock = &clocks->rows[process];
    int64_t since = (int64_t)(local_ns - clock->local_ns);
    return (int64_t)((uint64_t)clock->reference_ns + (uint64_t)since +
                     (uint64_t)(int64_t)((double)since * clock->drift));
}

/* From its first and last row. */
static struct rank_clock told(const struct clock_row *first, const struct clock_row *last)
{
    struct rank_clock clock = {.local_ns = first->local_ns,
                               .reference_ns = first->reference_ns,
                               .error_ns =
                                   first->error_ns > last->error_ns ? first->error_ns : last->error_ns};
    double local = (double)(last->local_ns - first->local_ns);
    if (local > 0)
        clock.drift = ((double)last->reference_ns - (double)first->reference_ns - local) / local;
    return clock;
}

static void take_told(const struct recording *recording, struct rank_clocks *clocks)
{
    const struct clock_row *rows = recording->clocks;
    for (uint32_t i = 0, end; i < recording->clocks_count; i = end) {
        for (end = i + 1; end < recording->clocks_count && rows[end].process == rows[i].process; end++)
            ;
        clocks->rows[rows[i].process] = told(&rows[i], &rows[end - 1]);
    }
}

/* The process of the lowest rank: all others are laid beside it. 0 = there are no ranks. */
static uint32_t find_first(const struct recording *recording)
{
    uint32_t first = 0;
    for (uint32_t id = 1; id < recording->processes_count; id++)
        if (recording->processes[id].rank < recording->processes[first].rank)
            first = id;
    return first;
}

/* The same host: one clock. */
static void take_neighbours(const struct recording *recording, uint32_t first, struct rank_clocks *clocks)
{
    for (uint32_t id = 0; id < recording->processes_count; id++)
        if (clocks->rows[id].error_ns == RANK_CLOCKS_UNKNOWN &&
            recording->processes[id].host == recording->processes[first].host)
            clocks->rows[id].error_ns = 0;
}

/* ---- clocks that nobody measured ---- */

/* A line through (local end, distance to the end on the run's clock), by least squares. */
struct fit {
    double count, x, y, xx, xy; /* sums; x from `origin_ns` on */
    uint64_t origin_ns;
    int64_t origin_distance_ns;
    double worst_ns;
};

static uint64_t end_ns(const struct collective_row *row)
{
    return row->time_ns + row->duration_ns;
}

/* A member of the group whose clock is known, so that its end is that of all. */
static const struct collective_row *known_member(const struct recording *recording,
                                                 const struct mpi_groups *groups, uint32_t group,
                                                 const bool *measured)
{
    for (uint32_t i = groups->starts[group]; i < groups->starts[group + 1]; i++) {
        const struct collective_row *row = &recording->collectives[groups->rows[i]];
        if (measured[mpi_groups_process(recording, row->thread)])
            return row;
    }
    return NULL;
}

static int64_t distance(const struct recording *recording, const struct rank_clocks *clocks,
                        const struct collective_row *known, const struct collective_row *row)
{
    int64_t there = rank_clocks_time(clocks, mpi_groups_process(recording, known->thread), end_ns(known));
    return (int64_t)((uint64_t)there - end_ns(row));
}

static void add_point(struct fit *fit, const struct collective_row *row, int64_t distance_ns)
{
    if (fit->count == 0) {
        fit->origin_ns = end_ns(row);
        fit->origin_distance_ns = distance_ns;
    }
    double x = (double)(int64_t)(end_ns(row) - fit->origin_ns);
    double y = (double)(int64_t)((uint64_t)distance_ns - (uint64_t)fit->origin_distance_ns);
    fit->count++;
    fit->x += x;
    fit->y += y;
    fit->xx += x * x;
    fit->xy += x * y;
}

static double slope(const struct fit *fit)
{
    double spread = fit->count * fit->xx - fit->x * fit->x;
    return spread > 0 ? (fit->count * fit->xy - fit->x * fit->y) / spread : 0;
}

static struct rank_clock fitted(const struct fit *fit)
{
    double drift = slope(fit);
    double offset = (fit->y - drift * fit->x) / fit->count;
    return (struct rank_clock){.local_ns = fit->origin_ns,
                               .reference_ns = (int64_t)(fit->origin_ns + (uint64_t)fit->origin_distance_ns +
                                                         (uint64_t)(int64_t)offset),
                               .drift = drift};
}

/* Both ends are those of the same collective, on the run's clock. */
static double disagreement(const struct recording *recording, const struct rank_clocks *clocks,
                           const struct collective_row *known, const struct collective_row *row)
{
    int64_t there = rank_clocks_time(clocks, mpi_groups_process(recording, known->thread), end_ns(known));
    int64_t here = rank_clocks_time(clocks, mpi_groups_process(recording, row->thread), end_ns(row));
    return fabs((double)(int64_t)((uint64_t)there - (uint64_t)here));
}

/* Each collective that nobody leaves early: its members whose clock nobody measured, beside one whose clock is known. Before
 * clocks are made of the fits, points are added to these; afterwards the worst disagreement is found. */
static void pass(const struct recording *recording, const struct mpi_groups *groups,
                 const struct rank_clocks *clocks, const bool *measured, bool is_fitted, struct fit *fits)
{
    for (uint32_t group = 0; group < groups->count; group++) {
        const struct collective_row *known = known_member(recording, groups, group, measured);
        if (!known || mpi_call_shape(known->call) != MPI_SHAPE_ALL_WITH_ALL)
            continue;
        for (uint32_t i = groups->starts[group]; i < groups->starts[group + 1]; i++) {
            const struct collective_row *row = &recording->collectives[groups->rows[i]];
            uint32_t process = mpi_groups_process(recording, row->thread);
            if (measured[process])
                continue;
            if (is_fitted)
                fits[process].worst_ns =
                    fmax(fits[process].worst_ns, disagreement(recording, clocks, known, row));
            else
                add_point(&fits[process], row, distance(recording, clocks, known, row));
        }
    }
}

static void fit_all(const struct recording *recording, const struct mpi_groups *groups,
                    struct rank_clocks *clocks, const bool *measured, struct fit *fits)
{
    pass(recording, groups, clocks, measured, false, fits);
    for (uint32_t id = 1; id < recording->processes_count; id++)
        if (fits[id].count)
            clocks->rows[id] = fitted(&fits[id]);
    pass(recording, groups, clocks, measured, true, fits);
    for (uint32_t id = 1; id < recording->processes_count; id++)
        if (fits[id].count)
            clocks->rows[id].error_ns = (uint64_t)fits[id].worst_ns + 1;
}

static int fit_others(const struct recording *recording, const struct mpi_groups *groups,
                      struct rank_clocks *clocks, struct err *err)
{
    const size_t count = recording->processes_count;
    bool *measured = malloc(count + 1);
    struct fit *fits = calloc(count + 1, sizeof *fits);
    int result = measured && fits ? 0 : err_set(err, "out of memory for the clocks of %zu processes", count);
    for (size_t id = 0; id < count && result == 0; id++)
        measured[id] = clocks->rows[id].error_ns != RANK_CLOCKS_UNKNOWN;
    if (result == 0)
        fit_all(recording, groups, clocks, measured, fits);
    free(measured);
    free(fits);
    return result;
}

static void judge(const struct recording *recording, struct rank_clocks *clocks)
{
    for (uint32_t id = 1; id < recording->processes_count; id++) {
        uint64_t error_ns = clocks->rows[id].error_ns;
        if (error_ns == RANK_CLOCKS_UNKNOWN)
            clocks->unknown += recording->processes[id].rank != UINT32_MAX;
        else if (error_ns > clocks->error_ns)
            clocks->error_ns = error_ns;
    }
}

int rank_clocks_build(const struct recording *recording, const struct mpi_groups *groups,
                      struct rank_clocks *clocks, struct err *err)
{
    *clocks =
        (struct rank_clocks){.rows = calloc((size_t)recording->processes_count + 1, sizeof *clocks->rows)};
    if (!clocks->rows)
        return err_set(err, "out of memory for the clocks of %u processes", recording->processes_count);
    for (uint32_t id = 0; id < recording->processes_count; id++)
        clocks->rows[id].error_ns = RANK_CLOCKS_UNKNOWN;
    take_told(recording, clocks);
    if (recording->processes_count)
        take_neighbours(recording, find_first(recording), clocks);
    if (fit_others(recording, groups, clocks, err) < 0) {
        rank_clocks_clear(clocks);
        return -1;
    }
    judge(recording, clocks);
    return 0;
}
