/*
 * mpi_groups: the collectives of all ranks, those that belong together side by side. They are matched by communicator and
 * number, never by time. Owns its arrays; a zeroed struct is empty.
 */
#ifndef SONDE_ANALYSE_MPI_GROUPS_H
#define SONDE_ANALYSE_MPI_GROUPS_H

#include <stdint.h>

struct collective_row;
struct err;
struct recording;

struct mpi_groups {
    uint32_t *rows;   /* of the recording's collectives, by group, then rank in the communicator */
    uint32_t *starts; /* of each group in `rows`, and behind the last one the end */
    uint32_t count;   /* groups */
};

int mpi_groups_build(const struct recording *recording, struct mpi_groups *groups, struct err *err);
void mpi_groups_clear(struct mpi_groups *groups);

/* The process and the rank of a thread's. */
uint32_t mpi_groups_process(const struct recording *recording, uint32_t thread);
uint32_t mpi_groups_rank(const struct recording *recording, uint32_t thread);

#endif
