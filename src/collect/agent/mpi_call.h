/*
 * mpi_call: one call of MPI, from the wrapper on: what is looked at before and after the library's own function is called, by
 * the form of its arguments. The program gets what that function gives.
 */
#ifndef SONDE_COLLECT_AGENT_MPI_CALL_H
#define SONDE_COLLECT_AGENT_MPI_CALL_H

#include "collect/agent/mpi_functions.h"

/* What a wrapper does with its arguments. Returns what the library's function returns. */
int mpi_call(const struct mpi_function_row *row, enum mpi_language language, const mpi_word *words);

#endif
