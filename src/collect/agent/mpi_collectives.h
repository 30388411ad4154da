/* mpi_collectives: what becomes of a call that all of a communicator take part in: how much this rank sends and receives, and which
 * of the communicator's collectives it is. */
#ifndef SONDE_COLLECT_AGENT_MPI_COLLECTIVES_H
#define SONDE_COLLECT_AGENT_MPI_COLLECTIVES_H

struct mpi_made;

/* The call has been made, and has not failed. */
void mpi_collectives_after(struct mpi_made *made);

#endif
