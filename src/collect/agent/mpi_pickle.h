/*
 * mpi_pickle: what Python does around messages. The lower-case methods of mpi4py pickle what they send, with functions that can be set:
 * ours take the place of its usual ones, call these, and count their time and bytes. What the program sets later stays.
 *
 * That is done by the main thread between two instructions, once mpi4py is imported. Everything of Python's is found at run time.
 */
#ifndef SONDE_COLLECT_AGENT_MPI_PICKLE_H
#define SONDE_COLLECT_AGENT_MPI_PICKLE_H

#include <stdbool.h>

/* Whether mpi_pickle_ask has something to do. */
extern bool mpi_pickle_is_wanted;

/* Python is there: from now on it is wanted. */
void mpi_pickle_begin(void);
/* Has the main thread see to it. From any thread, with or without the interpreter lock. */
void mpi_pickle_ask(void);

#endif
