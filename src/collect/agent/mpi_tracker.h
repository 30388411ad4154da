/*
 * mpi_tracker: counts what calls of MPI took, by stack, call, communicator and partner, and tells of single messages and
 * collectives, into an area that is shared with the recorder (mpi_area.h). One for each process. What the arguments of a
 * call mean is mpi_call's; here they are numbers.
 *
 * A thread is in one call at a time: what a library of MPI calls of itself meanwhile is not counted. Nothing here allocates
 * from the heap, locks or writes to files once a thread has made its first call.
 */
#ifndef SONDE_COLLECT_AGENT_MPI_TRACKER_H
#define SONDE_COLLECT_AGENT_MPI_TRACKER_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/agent/mpi_area.h"

struct agent;

#define MPI_TRACKER_NOBODY UINT32_MAX

/* Who calls, from mpi_tracker_begin to mpi_tracker_end. */
struct mpi_thread;

/* What is added to a total. */
struct mpi_tally {
    uint32_t call, communicator, peer;
    uint64_t sent_bytes, received_bytes;
};

void mpi_tracker_init(const struct agent *agent);
/* From now on stacks have Python frames. With the interpreter lock held. NULL, or why they cannot be read. */
const char *mpi_tracker_read_python(void);

/* A call begins; samples show its name (NULL = none) till it ends. NULL: it is not to be counted, because the thread is in another one, or nothing can be. */
struct mpi_thread *mpi_tracker_begin(const char *name);
void mpi_tracker_end(struct mpi_thread *thread);

/* NULL when there is none yet. */
struct mpi_area *mpi_tracker_area(void);
uint64_t mpi_tracker_now(void);
/* The node of the thread's stack, as it was when the call began. */
uint32_t mpi_tracker_node(struct mpi_thread *thread);

/* Around the call itself: gives the time. Should the process end in between, the recorder knows where it was. */
uint64_t mpi_tracker_enter(struct mpi_thread *thread, uint32_t call);
uint64_t mpi_tracker_leave(struct mpi_thread *thread);

/* One call from the stack, which took so long. */
void mpi_tracker_count(struct mpi_thread *thread, const struct mpi_tally *tally, uint64_t ticks);
/* Bytes of a call that was counted at `node` before, maybe by another thread. */
void mpi_tracker_add_bytes(uint32_t node, const struct mpi_tally *tally);
/* A message or a collective has ended. */
void mpi_tracker_tell(struct mpi_thread *thread, const struct mpi_event *event);

/* While paused, by whomever, calls are neither counted nor told; what they make and end is known all the same. */
enum mpi_paused { MPI_PAUSED_BY_PROGRAM = 1, MPI_PAUSED_BY_SONDE = 2 };
void mpi_tracker_pause(enum mpi_paused by, bool paused);

/* Memory for as many bytes, the thread's own, until it asks again. NULL when there is none. */
void *mpi_tracker_scratch(struct mpi_thread *thread, uint64_t bytes);

#endif
