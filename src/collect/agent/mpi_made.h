/*
 * mpi_made: one call of MPI while it is made: its arguments, which C, large counts and Fortran pass differently, the statuses
 * that the library gives, and what is counted of it. Lives on the stack of the wrapper; nothing here is kept.
 */
#ifndef SONDE_COLLECT_AGENT_MPI_MADE_H
#define SONDE_COLLECT_AGENT_MPI_MADE_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/agent/mpi_functions.h"
#include "collect/agent/mpi_tracker.h"

struct mpi_communicator;
struct mpi_peers;

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

/* ---- its arguments ---- */

static inline int mpi_made_number(const struct mpi_made *made, unsigned at)
{
    return made->language == MPI_LANGUAGE_FORTRAN ? *(const int *)made->words[at] : (int)made->words[at];
}

static inline int64_t mpi_made_count(const struct mpi_made *made, unsigned at)
{
    return made->language == MPI_LANGUAGE_C_LARGE ? (int64_t)made->words[at] : mpi_made_number(made, at);
}

/* One of several counts. */
static inline int64_t mpi_made_count_of(const struct mpi_made *made, unsigned at, uint32_t index)
{
    return made->language == MPI_LANGUAGE_C_LARGE ? ((const int64_t *)made->words[at])[index]
                                                  : ((const int *)made->words[at])[index];
}

static inline mpi_word mpi_made_handle(const struct mpi_made *made, unsigned at, mpi_word (*of_number)(int))
{
    if (made->language != MPI_LANGUAGE_FORTRAN)
        return mpi_abi_handle_of(made->words[at]);
    int number = *(const int *)made->words[at];
    return of_number ? of_number(number) : (uint32_t)number;
}

/* One of several handles, or the one that an address is of. */
static inline mpi_word mpi_made_handle_at(const struct mpi_made *made, unsigned at, size_t index,
                                          mpi_word (*of_number)(int))
{
    if (made->language != MPI_LANGUAGE_FORTRAN)
        return mpi_abi_handle((const void *)made->words[at], index);
    int number = ((const int *)made->words[at])[index];
    return of_number ? of_number(number) : (uint32_t)number;
}

/* Bytes of one element of the type at `at`; of as many as a count says. */
uint64_t mpi_made_type_bytes(const struct mpi_made *made, unsigned at);
uint64_t mpi_made_bytes(const struct mpi_made *made, unsigned count_at, unsigned type_at);
/* NULL when it is none. */
struct mpi_communicator *mpi_made_communicator(const struct mpi_made *made, unsigned at);
bool mpi_made_is_in_place(const struct mpi_made *made, unsigned at);

/* ---- its statuses ---- */

/* Before the call: where the library will write them is where they are read, here or in `own` where the program wants none. */
void mpi_made_see_status(struct mpi_made *made, unsigned at);
void mpi_made_see_statuses(struct mpi_made *made, unsigned at, void *own);
/* After it: the rank that a message is of. */
int mpi_made_source(const char *status);
/* Fills in what has come, and from whom of `peers`. */
void mpi_made_arrive(struct mpi_event *event, const struct mpi_peers *peers, const char *status);

/* ---- what is counted: inline, for every call comes here ---- */

static inline uint64_t mpi_made_ticks(const struct mpi_made *made)
{
    return made->end_ticks - made->start_ticks;
}

/* An event with the times of the call, and without a partner. */
static inline struct mpi_event mpi_made_event(const struct mpi_made *made, enum mpi_event_kind kind)
{
    return (struct mpi_event){.call = made->row->call,
                              .kind = (uint8_t)kind,
                              .peer = MPI_TRACKER_NOBODY,
                              .start_ticks = made->start_ticks,
                              .end_ticks = made->end_ticks,
                              .posted_ticks = made->start_ticks};
}

/* Adds the call, its time and the event's bytes to the totals of the stack. */
static inline void mpi_made_charge(struct mpi_made *made, const struct mpi_event *event)
{
    const struct mpi_tally tally = {made->row->call, event->communicator, event->peer, event->sent_bytes,
                                    event->received_bytes};
    mpi_tracker_count(made->thread, &tally, mpi_made_ticks(made));
}

#endif
