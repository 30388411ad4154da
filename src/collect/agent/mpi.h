/*
 * mpi: the library that follows calls of MPI (libsonde_mpi.so), as the agent reaches it: loaded by dlopen when calls of MPI
 * are to be counted, found by dlsym(library, MPI_SYMBOL). It exports nothing else, and links no library of MPI: which one the program
 * takes, it finds by itself.
 *
 * When one is loaded, the words through which other objects call its functions are exchanged (relocations.h): so it does not
 * matter whether MPI's library is visible to all, as Python's extensions do not make it, nor which of its functions are missing.
 */
#ifndef SONDE_COLLECT_AGENT_MPI_H
#define SONDE_COLLECT_AGENT_MPI_H

#include <stdbool.h>
#include <stdint.h>

struct agent;

#define MPI_SYMBOL    "sonde_mpi"
#define MPI_INTERFACE 1u

struct mpi {
    uint32_t version;
    /* Once, before main. */
    void (*start)(const struct agent *agent);
    /* Python is about to run the program: from now on stacks have frames. With the interpreter lock held. NULL, or why
     * this interpreter cannot be read. */
    const char *(*python_runs)(void);
    /* From now on calls are not counted; or they are again. */
    void (*rest)(bool resting);
};

#endif
