/*
 * mpi_waits: who waited for whom, and how much, by the stack that waited: late senders and receivers, and collectives that nobody
 * could leave before somebody had come. Nothing is said of a wait that is not longer than the error of the two clocks. Owns its
 * rows; a zeroed struct is empty.
 */
#ifndef SONDE_ANALYSE_MPI_WAITS_H
#define SONDE_ANALYSE_MPI_WAITS_H

#include <stdint.h>

struct err;
struct recording;

enum mpi_wait_kind {
    MPI_WAIT_SENDER,   /* a receive that was there before its send */
    MPI_WAIT_RECEIVER, /* a send that had to wait for its receive */
    MPI_WAIT_ALL,      /* barrier, allreduce, ...: until the last had come */
    MPI_WAIT_ROOT,     /* broadcast, scatter: until the root had come */
    MPI_WAIT_MEMBERS,  /* reduce, gather: the root, until the last had come */
    MPI_WAIT_BELOW,    /* scan: until the last of those below had come */
    MPI_WAIT_KINDS
};

/* "late sender", ... */
const char *mpi_waits_kind_name(enum mpi_wait_kind kind);

/* Waits of one rank for another one at one stack. */
struct mpi_wait_row {
    uint64_t wait_ns, longest_ns;
    uint32_t count;
    uint32_t rank;    /* who waited */
    uint32_t culprit; /* the rank that was waited for */
    uint32_t node;    /* where it waited; where the other one was at last: */
    uint32_t culprit_node;
    uint8_t call; /* enum mpi_call, that waited; of what does not block, that which began it */
    uint8_t kind; /* enum mpi_wait_kind */
};

/* How often a rank was the last one to come. */
struct mpi_late_row {
    uint64_t caused_ns; /* waits of the others, together */
    uint32_t rank;
    uint32_t took_part; /* collectives of this kind that it was in */
    uint32_t was_last;  /* and that the others waited for it */
    uint8_t call;
};

struct mpi_waits {
    struct mpi_wait_row *rows; /* the longest first */
    uint32_t count;
    struct mpi_late_row *late; /* by what they caused */
    uint32_t late_count;
    uint64_t error_ns; /* of the clocks: no wait that is shorter is told */
    uint64_t
        violation_ns; /* the farthest that a message seems to have come before it was sent; within the error all is well */
    uint64_t total_ns;
    uint32_t unknown_clocks; /* ranks that nothing could be said of */
    uint32_t unmatched;      /* messages of which the other side was not recorded */
    uint32_t
        incomplete; /* collectives that not all members have recorded: waits there are at least so long */
};

int mpi_waits_build(const struct recording *recording, struct mpi_waits *waits, struct err *err);
void mpi_waits_clear(struct mpi_waits *waits);

#endif
