#include "analyse/mpi_times.h"

#include <stdbool.h>
#include <stdlib.h>

#include "analyse/mpi_groups.h"
#include "base/err.h"
#include "base/sort.h"
#include "store/mpi_calls.h"
#include "store/recording.h"

#define COMPARE(left, right, field)                                                                          \
    do {                                                                                                     \
        if ((left)->field != (right)->field)                                                                 \
            return (left)->field < (right)->field ? -1 : 1;                                                  \
    } while (0)

void mpi_times_clear(struct mpi_times *times)
{
    free(times->calls);
    free(times->stacks);
    free(times->ranks);
    free(times->cells);
    *times = (struct mpi_times){0};
}

static bool is_python(uint8_t call)
{
    return mpi_call_shape(call) == MPI_SHAPE_PYTHON;
}

/* ---- by call and stack ---- */

/* A row of totals as it is sorted. */
struct item {
    uint32_t node, rank, row;
    uint8_t call;
};

static int compare_items(const void *a, const void *b, void *context)
{
    (void)context;
    const struct item *left = a, *right = b;
    COMPARE(left, right, call);
    COMPARE(left, right, node);
    COMPARE(left, right, rank);
    return 0;
}

static int compare_times(const void *a, const void *b, void *context)
{
    (void)context;
    const struct mpi_time_row *left = a, *right = b;
    COMPARE(right, left, total_ns);
    COMPARE(left, right, call);
    COMPARE(left, right, node);
    return 0;
}

/* The time of one rank is complete. */
static void add_rank(struct mpi_time_row *sum, uint32_t rank, uint64_t ns)
{
    if (sum->ranks == 0 || ns < sum->least_ns) {
        sum->least_ns = ns;
        sum->least_rank = rank;
    }
    if (sum->ranks == 0 || ns > sum->most_ns) {
        sum->most_ns = ns;
        sum->most_rank = rank;
    }
    sum->ranks++;
}

/* Items of one call and stack, by rank. Returns how many they are. */
static uint32_t add_items(const struct recording *recording, const struct item *items, uint32_t count,
                          struct mpi_time_row *sum)
{
    *sum = (struct mpi_time_row){.call = items[0].call, .node = items[0].node};
    uint32_t i = 0;
    uint64_t rank_ns = 0;
    for (; i < count && items[i].call == sum->call && items[i].node == sum->node; i++) {
        const struct mpi_total_row *row = &recording->mpi_totals[items[i].row];
        sum->count += row->count;
        sum->total_ns += row->total_ns;
        sum->sent_bytes += row->sent_bytes;
        sum->received_bytes += row->received_bytes;
        rank_ns += row->total_ns;
        if (i + 1 < count && items[i + 1].rank == items[i].rank && items[i + 1].call == sum->call &&
            items[i + 1].node == sum->node)
            continue;
        add_rank(sum, items[i].rank, rank_ns);
        rank_ns = 0;
    }
    return i;
}

/* A rank that never called it took no time there. */
static void see_absent(const struct mpi_times *times, struct mpi_time_row *sums, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (sums[i].ranks >= times->ranks_count)
            continue;
        sums[i].least_ns = 0;
        sums[i].least_rank = MPI_NOBODY;
    }
}

static int sum_items(const struct recording *recording, struct item *items, uint32_t count,
                     const struct mpi_times *times, struct mpi_time_row **rows, uint32_t *rows_count,
                     struct err *err)
{
    if (sort_rows(items, count, sizeof *items, compare_items, NULL, err) < 0)
        return -1;
    struct mpi_time_row *sums = malloc(((size_t)count + 1) * sizeof *sums);
    if (!sums)
        return err_set(err, "out of memory for %u rows of MPI calls", count);
    *rows = sums;
    for (uint32_t at = 0; at < count;)
        at += add_items(recording, items + at, count - at, &sums[(*rows_count)++]);
    see_absent(times, sums, *rows_count);
    return sort_rows(sums, *rows_count, sizeof *sums, compare_times, NULL, err);
}

static int sum_calls(const struct recording *recording, struct mpi_times *times, struct err *err)
{
    const uint32_t count = recording->mpi_totals_count;
    struct item *items = malloc(((size_t)count + 1) * sizeof *items);
    if (!items)
        return err_set(err, "out of memory for %u rows of MPI calls", count);
    for (uint32_t i = 0; i < count; i++) {
        const struct mpi_total_row *row = &recording->mpi_totals[i];
        items[i] = (struct item){row->node, mpi_groups_rank(recording, row->thread), i, row->call};
    }
    int result = sum_items(recording, items, count, times, &times->stacks, &times->stacks_count, err);
    for (uint32_t i = 0; i < count; i++)
        items[i].node = 0;
    if (result == 0)
        result = sum_items(recording, items, count, times, &times->calls, &times->calls_count, err);
    free(items);
    return result;
}

/* ---- by rank ---- */

static int compare_ranks(const void *a, const void *b, void *context)
{
    (void)context;
    const struct mpi_rank_row *left = a, *right = b;
    COMPARE(left, right, rank);
    return 0;
}

static int list_ranks(const struct recording *recording, struct mpi_times *times, struct err *err)
{
    times->ranks = calloc((size_t)recording->processes_count + 1, sizeof *times->ranks);
    if (!times->ranks)
        return err_set(err, "out of memory for the ranks of %u processes", recording->processes_count);
    uint32_t count = 0;
    for (uint32_t id = 1; id < recording->processes_count; id++)
        if (recording->processes[id].rank != UINT32_MAX)
            times->ranks[count++].rank = recording->processes[id].rank;
    if (sort_rows(times->ranks, count, sizeof *times->ranks, compare_ranks, NULL, err) < 0)
        return -1;
    for (uint32_t i = 0; i < count; i++)
        if (times->ranks_count == 0 || times->ranks[times->ranks_count - 1].rank != times->ranks[i].rank)
            times->ranks[times->ranks_count++] = times->ranks[i];
    return 0;
}

static struct mpi_rank_row *find_rank(const struct mpi_times *times, uint32_t rank)
{
    uint32_t low = 0, high = times->ranks_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (times->ranks[middle].rank < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return low < times->ranks_count && times->ranks[low].rank == rank ? &times->ranks[low] : NULL;
}

static void sum_ranks(const struct recording *recording, struct mpi_times *times)
{
    for (uint32_t i = 0; i < recording->mpi_totals_count; i++) {
        const struct mpi_total_row *row = &recording->mpi_totals[i];
        *(is_python(row->call) ? &times->python_ns : &times->total_ns) += row->total_ns;
        struct mpi_rank_row *rank = find_rank(times, mpi_groups_rank(recording, row->thread));
        if (!rank)
            continue;
        *(is_python(row->call) ? &rank->python_ns : &rank->mpi_ns) += row->total_ns;
        if (is_python(row->call))
            continue;
        rank->calls += row->count;
        rank->sent_bytes += row->sent_bytes;
        rank->received_bytes += row->received_bytes;
    }
}

/* ---- from whom to whom ---- */

static int compare_cells(const void *a, const void *b, void *context)
{
    (void)context;
    const struct mpi_cell *left = a, *right = b;
    COMPARE(left, right, from);
    COMPARE(left, right, to);
    return 0;
}

/* Each message is told by its sender, or by its receiver where the sender was not recorded. Returns how many cells the row
 * has. What is exchanged is counted with the partner that it is sent to; from another one there are bytes only. */
static uint32_t put_cells(const struct recording *recording, const struct mpi_times *times,
                          const struct mpi_total_row *row, struct mpi_cell cells[2])
{
    uint32_t own = mpi_groups_rank(recording, row->thread), count = 0;
    enum mpi_shape shape = mpi_call_shape(row->call);
    bool exchanges = shape == MPI_SHAPE_EXCHANGE;
    if (row->peer == MPI_NOBODY || own == MPI_NOBODY)
        return 0;
    if (shape == MPI_SHAPE_SEND || (exchanges && row->count))
        cells[count++] = (struct mpi_cell){row->count, row->sent_bytes, own, row->peer};
    if ((shape == MPI_SHAPE_RECEIVE || (exchanges && row->received_bytes)) && !find_rank(times, row->peer))
        cells[count++] = (struct mpi_cell){row->count, row->received_bytes, row->peer, own};
    return count;
}

static int sum_cells(const struct recording *recording, struct mpi_times *times, struct err *err)
{
    struct mpi_cell *cells = malloc(((size_t)recording->mpi_totals_count * 2 + 1) * sizeof *cells);
    if (!cells)
        return err_set(err, "out of memory for the matrix of messages");
    times->cells = cells;
    uint32_t count = 0;
    for (uint32_t i = 0; i < recording->mpi_totals_count; i++)
        count += put_cells(recording, times, &recording->mpi_totals[i], &cells[count]);
    if (sort_rows(cells, count, sizeof *cells, compare_cells, NULL, err) < 0)
        return -1;
    for (uint32_t i = 0; i < count; i++) {
        struct mpi_cell *last = times->cells_count ? &cells[times->cells_count - 1] : NULL;
        if (!last || compare_cells(last, &cells[i], NULL) != 0) {
            cells[times->cells_count++] = cells[i];
            continue;
        }
        last->count += cells[i].count;
        last->size_bytes += cells[i].size_bytes;
    }
    return 0;
}

int mpi_times_build(const struct recording *recording, struct mpi_times *times, struct err *err)
{
    *times = (struct mpi_times){0};
    int result = list_ranks(recording, times, err);
    if (result == 0) {
        sum_ranks(recording, times);
        result = sum_calls(recording, times, err);
    }
    if (result == 0)
        result = sum_cells(recording, times, err);
    if (result != 0)
        mpi_times_clear(times);
    return result;
}
