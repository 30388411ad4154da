#include "analyse/mpi_groups.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/sort.h"
#include "store/recording.h"

#define COMPARE(left, right)                                                                                 \
    do {                                                                                                     \
        if ((left) != (right))                                                                               \
            return (left) < (right) ? -1 : 1;                                                                \
    } while (0)

void mpi_groups_clear(struct mpi_groups *groups)
{
    free(groups->rows);
    free(groups->starts);
    *groups = (struct mpi_groups){0};
}

uint32_t mpi_groups_process(const struct recording *recording, uint32_t thread)
{
    return recording->threads[thread].process;
}

uint32_t mpi_groups_rank(const struct recording *recording, uint32_t thread)
{
    return recording->processes[mpi_groups_process(recording, thread)].rank;
}

static int compare_groups(const struct recording *recording, uint32_t a, uint32_t b)
{
    const struct collective_row *left = &recording->collectives[a], *right = &recording->collectives[b];
    COMPARE(recording->communicators[left->communicator].key,
            recording->communicators[right->communicator].key);
    COMPARE(left->number, right->number);
    return 0;
}

static int compare_rows(const void *a, const void *b, void *context)
{
    const struct recording *recording = context;
    const uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    int order = compare_groups(recording, left, right);
    if (order != 0)
        return order;
    COMPARE(recording->communicators[recording->collectives[left].communicator].rank,
            recording->communicators[recording->collectives[right].communicator].rank);
    return 0;
}

static void cut(const struct recording *recording, struct mpi_groups *groups)
{
    const uint32_t count = recording->collectives_count;
    for (uint32_t i = 0; i < count; i++)
        if (i == 0 || compare_groups(recording, groups->rows[i - 1], groups->rows[i]) != 0)
            groups->starts[groups->count++] = i;
    groups->starts[groups->count] = count;
}

int mpi_groups_build(const struct recording *recording, struct mpi_groups *groups, struct err *err)
{
    const uint32_t count = recording->collectives_count;
    *groups = (struct mpi_groups){
        .rows = malloc((count + 1) * sizeof *groups->rows),
        .starts = malloc((count + 1) * sizeof *groups->starts),
    };
    if (!groups->rows || !groups->starts) {
        mpi_groups_clear(groups);
        return err_set(err, "out of memory while matching %u collectives", count);
    }
    for (uint32_t i = 0; i < count; i++)
        groups->rows[i] = i;
    /* rows only: sort_rows does not write the context */
    if (sort_rows(groups->rows, count, sizeof *groups->rows, compare_rows, (void *)recording, err) < 0) {
        mpi_groups_clear(groups);
        return -1;
    }
    cut(recording, groups);
    return 0;
}
