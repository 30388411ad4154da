/*
 * mpi_communicators: the communicators of this process: who is in them, as ranks of the job, and what they are called in all
 * of their ranks alike. That is a number made of the members' ranks, and of how many communicators of the same members were made
 * before: making one is something that all of its members do in the same order.
 *
 * Found without a lock; made and freed under one. Needs the library to be bound (mpi_abi.h) and MPI to be initialised.
 */
#ifndef SONDE_COLLECT_AGENT_MPI_COMMUNICATORS_H
#define SONDE_COLLECT_AGENT_MPI_COMMUNICATORS_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/agent/mpi_abi.h"

/* Ranks of the job by rank of a group. Never freed. */
struct mpi_peers {
    const uint32_t *ranks;
    uint32_t count;
};

struct mpi_communicator {
    mpi_word handle; /* 0 = none */
    uint32_t row;    /* in the area; 0 = there was no room */
    uint32_t size, rank;
    struct mpi_peers peers; /* whom messages go to: of an intercommunicator, the remote ones */
    bool is_inter;
    uint64_t collectives; /* so far */
};

/* Makes MPI_COMM_WORLD and MPI_COMM_SELF known, and what rank this is. */
void mpi_communicators_begin(void);
/* The communicator, which becomes known when it was not; NULL when it cannot be. */
struct mpi_communicator *mpi_communicators_find(mpi_word handle);
/* It is about to be freed. */
void mpi_communicators_forget(mpi_word handle);
void mpi_communicators_name(mpi_word handle, const char *name);

/* The rank in the job of a rank in the group; MPI_TRACKER_NOBODY of anything else. */
uint32_t mpi_communicators_peer(const struct mpi_peers *peers, int rank);
uint32_t mpi_communicators_own(void);

#endif
