#include "collect/agent/mpi_collectives.h"

#include "collect/agent/mpi_communicators.h"
#include "collect/agent/mpi_made.h"
#include "collect/agent/mpi_pending.h"

struct amounts {
    uint64_t sent_bytes, received_bytes;
};

/* A count for each rank, one type. */
static uint64_t sum_of(const struct mpi_made *made, unsigned counts_at, unsigned type_at, uint32_t ranks)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < ranks; i++)
        sum += mpi_made_count_of(made, counts_at, i);
    return sum > 0 ? (uint64_t)sum * mpi_made_type_bytes(made, type_at) : 0;
}

/* A count and a type for each rank. */
static uint64_t sum_of_types(const struct mpi_made *made, unsigned counts_at, unsigned types_at,
                             uint32_t ranks)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < ranks; i++) {
        int size = 0;
        mpi_binding.Type_size(mpi_made_handle_at(made, types_at, i, mpi_binding.type_of), (mpi_word)&size);
        sum += (uint64_t)mpi_made_count_of(made, counts_at, i) * (uint64_t)size;
    }
    return sum;
}

/* Of those with a root; `own` says that this is it. */
static struct amounts measure_rooted(const struct mpi_made *made, uint32_t ranks, bool own)
{
    struct amounts amounts = {0};
    bool in_place = false;
    switch (made->row->form) {
    case MPI_FORM_BCAST:
        *(own ? &amounts.sent_bytes : &amounts.received_bytes) = mpi_made_bytes(made, 1, 2);
        break;
    case MPI_FORM_REDUCE:
        amounts.sent_bytes = mpi_made_bytes(made, 2, 3);
        amounts.received_bytes = own ? amounts.sent_bytes : 0;
        break;
    case MPI_FORM_GATHER:
        in_place = mpi_made_is_in_place(made, 0);
        amounts.received_bytes = own ? mpi_made_bytes(made, 4, 5) * ranks : 0;
        amounts.sent_bytes = in_place ? mpi_made_bytes(made, 4, 5) : mpi_made_bytes(made, 1, 2);
        break;
    case MPI_FORM_GATHERV:
        in_place = mpi_made_is_in_place(made, 0);
        amounts.received_bytes = own ? sum_of(made, 4, 6, ranks) : 0;
        amounts.sent_bytes = in_place ? 0 : mpi_made_bytes(made, 1, 2);
        break;
    case MPI_FORM_SCATTER:
        in_place = mpi_made_is_in_place(made, 3);
        amounts.sent_bytes = own ? mpi_made_bytes(made, 1, 2) * ranks : 0;
        amounts.received_bytes = in_place ? mpi_made_bytes(made, 1, 2) : mpi_made_bytes(made, 4, 5);
        break;
    default: /* SCATTERV */
        in_place = mpi_made_is_in_place(made, 4);
        amounts.sent_bytes = own ? sum_of(made, 1, 3, ranks) : 0;
        amounts.received_bytes = in_place ? 0 : mpi_made_bytes(made, 5, 6);
    }
    return amounts;
}

static struct amounts measure_all(const struct mpi_made *made, const struct mpi_communicator *communicator,
                                  uint32_t ranks)
{
    struct amounts amounts = {0};
    bool in_place = made->row->form != MPI_FORM_BARRIER && mpi_made_is_in_place(made, 0);
    switch (made->row->form) {
    case MPI_FORM_ALLREDUCE:
        amounts.sent_bytes = amounts.received_bytes = mpi_made_bytes(made, 2, 3);
        break;
    case MPI_FORM_REDUCE_SPLIT:
        amounts.sent_bytes = sum_of(made, 2, 3, communicator->size);
        amounts.received_bytes =
            (uint64_t)mpi_made_count_of(made, 2, communicator->rank) * mpi_made_type_bytes(made, 3);
        break;
    case MPI_FORM_REDUCE_BLOCK:
        amounts.received_bytes = mpi_made_bytes(made, 2, 3);
        amounts.sent_bytes = amounts.received_bytes * communicator->size;
        break;
    case MPI_FORM_ALLGATHER:
        amounts.received_bytes = mpi_made_bytes(made, 4, 5) * ranks;
        amounts.sent_bytes = in_place ? mpi_made_bytes(made, 4, 5) : mpi_made_bytes(made, 1, 2);
        break;
    case MPI_FORM_ALLGATHERV:
        amounts.received_bytes = sum_of(made, 4, 6, ranks);
        amounts.sent_bytes =
            in_place ? (uint64_t)mpi_made_count_of(made, 4, communicator->rank) * mpi_made_type_bytes(made, 6)
                     : mpi_made_bytes(made, 1, 2);
        break;
    case MPI_FORM_ALLTOALL:
        amounts.received_bytes = mpi_made_bytes(made, 4, 5) * ranks;
        amounts.sent_bytes = in_place ? amounts.received_bytes : mpi_made_bytes(made, 1, 2) * ranks;
        break;
    case MPI_FORM_ALLTOALLV:
        amounts.received_bytes = sum_of(made, 5, 7, ranks);
        amounts.sent_bytes = in_place ? amounts.received_bytes : sum_of(made, 1, 3, ranks);
        break;
    case MPI_FORM_ALLTOALLW:
        amounts.received_bytes = sum_of_types(made, 5, 7, ranks);
        amounts.sent_bytes = in_place ? amounts.received_bytes : sum_of_types(made, 1, 3, ranks);
        break;
    default: /* BARRIER */
        break;
    }
    return amounts;
}

struct place {
    uint8_t communicator, root; /* of the argument; NO_ROOT = there is none */
};
#define NO_ROOT UINT8_MAX

static struct place places_of(enum mpi_form form)
{
    switch (form) {
    case MPI_FORM_BARRIER:
        return (struct place){0, NO_ROOT};
    case MPI_FORM_BCAST:
        return (struct place){4, 3};
    case MPI_FORM_REDUCE:
        return (struct place){6, 5};
    case MPI_FORM_ALLREDUCE:
    case MPI_FORM_REDUCE_SPLIT:
    case MPI_FORM_REDUCE_BLOCK:
        return (struct place){5, NO_ROOT};
    case MPI_FORM_GATHER:
    case MPI_FORM_SCATTER:
        return (struct place){7, 6};
    case MPI_FORM_GATHERV:
    case MPI_FORM_SCATTERV:
        return (struct place){8, 7};
    case MPI_FORM_ALLGATHERV:
        return (struct place){7, NO_ROOT};
    case MPI_FORM_ALLTOALLV:
    case MPI_FORM_ALLTOALLW:
        return (struct place){8, NO_ROOT};
    default:
        return (struct place){6, NO_ROOT};
    }
}

/* The root as a rank of the job. Between two groups the root's own says that it is, and its neighbours that they are not. */
static uint32_t find_root(const struct mpi_communicator *communicator, int root, bool *own)
{
    *own = communicator->is_inter ? root == mpi_binding.abi.root : root == (int)communicator->rank;
    return *own ? mpi_communicators_own() : mpi_communicators_peer(&communicator->peers, root);
}

void mpi_collectives_after(struct mpi_made *made)
{
    struct place place = places_of(made->row->form);
    struct mpi_communicator *communicator = mpi_made_communicator(made, place.communicator);
    struct mpi_event event = mpi_made_event(made, MPI_EVENT_COLLECTIVE);
    struct amounts amounts = {0};
    bool own = false;
    if (communicator) {
        event.communicator = communicator->row;
        event.number = __atomic_fetch_add(&communicator->collectives, 1, __ATOMIC_RELAXED);
        if (place.root != NO_ROOT)
            event.peer = find_root(communicator, mpi_made_number(made, place.root), &own);
        amounts = place.root != NO_ROOT ? measure_rooted(made, communicator->peers.count, own)
                                        : measure_all(made, communicator, communicator->peers.count);
    }
    const struct mpi_tally tally = {event.call, event.communicator, MPI_TRACKER_NOBODY, amounts.sent_bytes,
                                    amounts.received_bytes};
    mpi_tracker_count(made->thread, &tally, mpi_made_ticks(made));
    event.node = mpi_tracker_node(made->thread);
    event.sent_bytes = amounts.sent_bytes;
    event.received_bytes = amounts.received_bytes;
    if (made->key)
        mpi_pending_post(made, &event, communicator);
    else
        mpi_tracker_tell(made->thread, &event);
}
