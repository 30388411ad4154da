/*
 * mpi_suspects: the questions that findings asks of what ranks did with one another, one function each, in one table. To add one, write
 * its function and its row.
 */
#ifndef SONDE_ANALYSE_MPI_SUSPECTS_H
#define SONDE_ANALYSE_MPI_SUSPECTS_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/mpi_times.h"
#include "analyse/mpi_waits.h"

struct bytes;

/* What the questions look at. */
struct mpi_suspects {
    const struct recording *recording; /* borrowed */
    struct mpi_times times;            /* owned */
    struct mpi_waits waits;            /* owned */
    uint64_t ranks_ns;                 /* the time of all ranks together: what shares are of */
};

/* Whether the recording says anything about it. */
bool mpi_suspects_has(const struct recording *recording);
int mpi_suspects_init(struct mpi_suspects *suspects, const struct recording *recording, struct err *err);
void mpi_suspects_clear(struct mpi_suspects *suspects);

/* Writes one sentence and returns the share of the time of all ranks that it is about; 0 = nothing to say. */
typedef double mpi_suspects_look(const struct mpi_suspects *suspects, struct bytes *text, uint32_t *code);

struct mpi_suspect {
    const char *topic;
    mpi_suspects_look *look;
};

/* Ends with a NULL topic. */
extern const struct mpi_suspect mpi_suspects_list[];

#endif
