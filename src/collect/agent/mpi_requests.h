/*
 * mpi_requests: what was begun and has not ended, by the handle that the program waits with; and likewise messages that were
 * probed and not received yet. Bounded; no lock: a place is taken by one store, and who looks for a handle has it from a
 * call that put it here.
 *
 * Handles need not differ: MPICH gives all sends that have ended at once the same one. Of equal ones the oldest is taken.
 */
#ifndef SONDE_COLLECT_AGENT_MPI_REQUESTS_H
#define SONDE_COLLECT_AGENT_MPI_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/agent/mpi_abi.h"
#include "collect/agent/mpi_communicators.h"

enum { MPI_REQUESTS = 1 << 16 };

struct mpi_request {
    uint64_t posted_ticks;
    uint64_t sent_bytes, received_bytes;
    uint64_t number;             /* as in struct mpi_event */
    uint32_t node;               /* that began it */
    uint32_t communicator, peer; /* MPI_TRACKER_NOBODY: from anybody */
    struct mpi_peers peers;      /* of the communicator, which may be gone by then */
    uint8_t call, kind;          /* kind: enum mpi_event_kind; 0 = nothing that is told */
    uint8_t counted_as;          /* the call that bytes are added to in the totals */
    bool is_persistent, is_active;
};

/* A zeroed one is empty. */
struct mpi_requests {
    mpi_word keys[MPI_REQUESTS]; /* 0 = free */
    struct mpi_request rows[MPI_REQUESTS];
};
extern struct mpi_requests mpi_requests, mpi_requests_probed;

/* False when there is no room. */
bool mpi_requests_add(struct mpi_requests *requests, mpi_word key, const struct mpi_request *row);
/* It has ended. False when it is not known. A persistent one stays. */
bool mpi_requests_take(struct mpi_requests *requests, mpi_word key, struct mpi_request *row);
/* A persistent one begins. NULL when it is not known. */
struct mpi_request *mpi_requests_start(struct mpi_requests *requests, mpi_word key, uint64_t ticks,
                                       uint32_t node);
/* A persistent one is no more. */
void mpi_requests_drop(struct mpi_requests *requests, mpi_word key);

#endif
