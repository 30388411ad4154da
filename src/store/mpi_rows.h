/* mpi_rows: the order that a recording promises for what its ranks say to one another. */
#ifndef SONDE_STORE_MPI_ROWS_H
#define SONDE_STORE_MPI_ROWS_H

struct err;
struct recording;

/* Sorts clocks, messages and collectives, stably, and adds up the totals. */
int mpi_rows_order(struct recording *recording, struct err *err);

#endif
