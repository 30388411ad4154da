/*
 * mpi_job: this process as a rank of a job, from MPI_Init to MPI_Finalize: when calls may be made of MPI at all, and how the clock
 * of this rank goes compared with that of rank 0.
 *
 * Clocks are compared in communication of our own, at the end of MPI_Init and at the beginning of MPI_Finalize, where all
 * ranks are by MPI's own rules, and nowhere else.
 */
#ifndef SONDE_COLLECT_AGENT_MPI_JOB_H
#define SONDE_COLLECT_AGENT_MPI_JOB_H

#include <stdbool.h>

/* Whether MPI is initialised, and not finalised. */
bool mpi_job_runs(void);
/* MPI has just been initialised. */
void mpi_job_begin(void);
/* It is about to be finalised; it has been. */
void mpi_job_before_end(void);
void mpi_job_end(void);

#endif
