/*
 * mpi_pairs: messages of all ranks, each send with its receive. MPI keeps the order of messages between two ranks with the same
 * communicator and tag, so the n-th that was sent is the n-th that was received. Owns its rows; a zeroed struct is empty.
 */
#ifndef SONDE_ANALYSE_MPI_PAIRS_H
#define SONDE_ANALYSE_MPI_PAIRS_H

#include <stdint.h>

struct err;
struct recording;

struct mpi_pair {
    uint32_t sent, received; /* of the recording's messages */
};

struct mpi_pairs {
    struct mpi_pair *rows;
    uint32_t count;
    uint32_t alone; /* messages of which the other side was not recorded */
};

int mpi_pairs_build(const struct recording *recording, struct mpi_pairs *pairs, struct err *err);
void mpi_pairs_clear(struct mpi_pairs *pairs);

#endif
