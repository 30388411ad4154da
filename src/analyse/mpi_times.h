/*
 * mpi_times: what all ranks did with one another, added up: by call, by stack, by rank, and from whom to whom. From the totals, which are
 * of all calls, also of those whose single rows were left out. Owns its rows; a zeroed struct is empty.
 */
#ifndef SONDE_ANALYSE_MPI_TIMES_H
#define SONDE_ANALYSE_MPI_TIMES_H

#include <stdint.h>

struct err;
struct recording;

struct mpi_time_row {
    uint64_t count, total_ns;
    uint64_t sent_bytes, received_bytes;
    uint64_t least_ns, most_ns; /* of one rank; least is 0 where a rank never did it */
    uint32_t least_rank, most_rank;
    uint32_t ranks; /* that did it */
    uint32_t node;  /* 0 = all stacks together */
    uint8_t call;
};

struct mpi_rank_row {
    uint32_t rank;
    uint64_t mpi_ns;    /* in calls of MPI's */
    uint64_t python_ns; /* pickling, beside them */
    uint64_t sent_bytes, received_bytes;
    uint64_t calls;
};

/* One cell of the matrix of messages. */
struct mpi_cell {
    uint64_t count, size_bytes;
    uint32_t from, to;
};

struct mpi_times {
    struct mpi_time_row *calls; /* the longest first */
    uint32_t calls_count;
    struct mpi_time_row *stacks; /* one for each (call, stack), the longest first */
    uint32_t stacks_count;
    struct mpi_rank_row *ranks; /* by rank; all ranks of the recording, also those without a call */
    uint32_t ranks_count;
    struct mpi_cell *cells; /* by from, then to; those that are not empty */
    uint32_t cells_count;
    uint64_t total_ns; /* of all ranks, pickling left out */
    uint64_t python_ns;
};

int mpi_times_build(const struct recording *recording, struct mpi_times *times, struct err *err);
void mpi_times_clear(struct mpi_times *times);

#endif
