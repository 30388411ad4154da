/*
 * mpi_clocks: how the clock of this rank (CLOCK_MONOTONIC) goes compared with that of rank 0. Ranks of one machine, boot and time
 * namespace have the same. The others ask rank 0 for its time again and again, one rank after the other; of the quickest answer the
 * truth is at most half of the way there and back away.
 */
#ifndef SONDE_COLLECT_AGENT_MPI_CLOCKS_H
#define SONDE_COLLECT_AGENT_MPI_CLOCKS_H

/* Compares, into the area's clocks. To be called by all ranks of the job, or none. */
void mpi_clocks_begin(void);
/* The same again, and for the last time. */
void mpi_clocks_end(void);

#endif
