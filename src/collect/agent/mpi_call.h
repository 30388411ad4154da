/*
 * mpi_call: one call of MPI, from the wrapper on: what its arguments mean, before and after the library's own function is called.
 * The program gets what that gives.
 */
#ifndef SONDE_COLLECT_AGENT_MPI_CALL_H
#define SONDE_COLLECT_AGENT_MPI_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/agent/mpi_functions.h"
#include "collect/agent/mpi_tracker.h"

struct mpi_communicator;

/* One call while it is made. */
struct mpi_made {
    const struct mpi_function_row *row;
    enum mpi_language language;
    mpi_word words[MPI_ABI_ARGUMENTS + 2]; /* what is passed on */
    struct mpi_thread *thread;
    uint64_t start_ticks, end_ticks;
    mpi_word key;         /* of a message that is received, or a single request */
    mpi_word *keys;       /* of several */
    const char *statuses; /* where they are; NULL = nowhere */
    uint64_t own_status[MPI_ABI_STATUS_BYTES / sizeof(uint64_t)];
};

/* What a wrapper does with its arguments. Returns what the library's function returns. */
int mpi_call(const struct mpi_function_row *row, enum mpi_language language, const mpi_word *words);

/* ---- its arguments ---- */

static inline int mpi_call_number(const struct mpi_made *made, unsigned at)
{
    return made->language == MPI_LANGUAGE_FORTRAN ? *(const int *)made->words[at] : (int)made->words[at];
}

static inline int64_t mpi_call_count(const struct mpi_made *made, unsigned at)
{
    return made->language == MPI_LANGUAGE_C_LARGE ? (int64_t)made->words[at] : mpi_call_number(made, at);
}

/* One of several counts. */
static inline int64_t mpi_call_count_of(const struct mpi_made *made, unsigned at, uint32_t index)
{
    return made->language == MPI_LANGUAGE_C_LARGE ? ((const int64_t *)made->words[at])[index]
                                                  : ((const int *)made->words[at])[index];
}

static inline mpi_word mpi_call_handle(const struct mpi_made *made, unsigned at, mpi_word (*of_number)(int))
{
    if (made->language != MPI_LANGUAGE_FORTRAN)
        return mpi_abi_handle_of(made->words[at]);
    int number = *(const int *)made->words[at];
    return of_number ? of_number(number) : (uint32_t)number;
}

/* One of several handles, or the one that an address is of. */
static inline mpi_word mpi_call_handle_at(const struct mpi_made *made, unsigned at, size_t index,
                                          mpi_word (*of_number)(int))
{
    if (made->language != MPI_LANGUAGE_FORTRAN)
        return mpi_abi_handle((const void *)made->words[at], index);
    int number = ((const int *)made->words[at])[index];
    return of_number ? of_number(number) : (uint32_t)number;
}

/* Bytes of one element of the type at `at`. */
uint64_t mpi_call_type_bytes(const struct mpi_made *made, unsigned at);
/* NULL when it is none. */
struct mpi_communicator *mpi_call_communicator(const struct mpi_made *made, unsigned at);
bool mpi_call_is_in_place(const struct mpi_made *made, unsigned at);

static inline uint64_t mpi_call_ticks(const struct mpi_made *made)
{
    return made->end_ticks - made->start_ticks;
}

/* ---- what becomes of it ---- */

/* It goes on: remembers it by the request that the call has made. The communicator may be NULL. */
void mpi_call_post(struct mpi_made *made, const struct mpi_event *event,
                   const struct mpi_communicator *communicator);

#endif
