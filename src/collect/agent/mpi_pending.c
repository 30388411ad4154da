#include "collect/agent/mpi_pending.h"

#include "collect/agent/mpi_communicators.h"
#include "collect/agent/mpi_made.h"
#include "collect/agent/mpi_requests.h"
#include "store/mpi_calls.h"

/* ---- it begins ---- */

struct mpi_request mpi_pending_request(const struct mpi_event *event,
                                       const struct mpi_communicator *communicator)
{
    return (struct mpi_request){.posted_ticks = event->posted_ticks,
                                .sent_bytes = event->sent_bytes,
                                .received_bytes = event->received_bytes,
                                .number = event->number,
                                .node = event->node,
                                .communicator = event->communicator,
                                .peer = event->peer,
                                .peers = communicator ? communicator->peers : (struct mpi_peers){0},
                                .call = event->call,
                                .kind = event->kind,
                                .counted_as = event->call,
                                .is_active = true};
}

void mpi_pending_remember(struct mpi_requests *requests, mpi_word key, const struct mpi_request *request)
{
    if (key != mpi_binding.abi.no_request && !mpi_requests_add(requests, key, request))
        __atomic_fetch_add(&mpi_tracker_area()->lost_requests, 1, __ATOMIC_RELAXED);
}

void mpi_pending_post(struct mpi_made *made, const struct mpi_event *event,
                      const struct mpi_communicator *communicator)
{
    const struct mpi_request request = mpi_pending_request(event, communicator);
    mpi_pending_remember(&mpi_requests, made->key, &request);
}

/* Whom a receive is from is known at its end. */
static void start_one(struct mpi_made *made, mpi_word key, struct mpi_event *single)
{
    uint32_t node = mpi_tracker_node(made->thread);
    const struct mpi_request *request = mpi_requests_start(&mpi_requests, key, made->start_ticks, node);
    if (!request)
        return;
    single->communicator = request->communicator;
    single->peer = request->kind == MPI_EVENT_SENT ? request->peer : MPI_TRACKER_NOBODY;
    single->sent_bytes = request->sent_bytes;
}

void mpi_pending_after_start(struct mpi_made *made)
{
    struct mpi_event single = mpi_made_event(made, 0);
    start_one(made, mpi_made_handle_at(made, 0, 0, mpi_binding.request_of), &single);
    mpi_made_charge(made, &single);
}

/* The Starts that it stands for are counted as well: each is one message. */
void mpi_pending_after_start_all(struct mpi_made *made)
{
    const struct mpi_event none = mpi_made_event(made, 0);
    int requests = mpi_made_number(made, 0);
    for (int i = 0; i < requests; i++) {
        struct mpi_event single = mpi_made_event(made, 0);
        start_one(made, mpi_made_handle_at(made, 1, (size_t)i, mpi_binding.request_of), &single);
        const struct mpi_tally tally = {.call = MPI_CALL_START,
                                        .communicator = single.communicator,
                                        .peer = single.peer,
                                        .sent_bytes = single.sent_bytes};
        mpi_tracker_count(made->thread, &tally, 0);
    }
    mpi_made_charge(made, &none);
}

/* ---- it ends ---- */

void mpi_pending_before(struct mpi_made *made, unsigned status_at, bool several)
{
    int given = mpi_made_number(made, 0);
    size_t requests = given > 0 ? (size_t)given : 0;
    size_t bytes = requests * (sizeof(mpi_word) + MPI_ABI_STATUS_BYTES);
    made->keys = mpi_tracker_scratch(made->thread, bytes);
    for (size_t i = 0; made->keys && i < requests; i++)
        made->keys[i] = mpi_made_handle_at(made, 1, i, mpi_binding.request_of);
    if (!several)
        mpi_made_see_status(made, status_at);
    else if (made->keys)
        mpi_made_see_statuses(made, status_at, made->keys + requests);
}

/* One of them has ended in this call. `single` is given its partner, for the total of the call. */
static void complete(struct mpi_made *made, mpi_word key, const char *status, struct mpi_event *single)
{
    struct mpi_request request;
    if (key == mpi_binding.abi.no_request || !mpi_requests_take(&mpi_requests, key, &request))
        return;
    struct mpi_event event = mpi_made_event(made, request.kind);
    event.call = request.call;
    event.posted_ticks = request.posted_ticks;
    event.communicator = request.communicator;
    event.peer = request.peer;
    event.number = request.number;
    event.sent_bytes = request.sent_bytes;
    event.received_bytes = request.received_bytes;
    event.node = mpi_tracker_node(made->thread);
    if (request.kind == MPI_EVENT_RECEIVED && !status)
        return;
    if (request.kind == MPI_EVENT_RECEIVED) {
        mpi_made_arrive(&event, &request.peers, status);
        const struct mpi_tally tally = {.call = request.counted_as,
                                        .communicator = event.communicator,
                                        .peer = event.peer,
                                        .received_bytes = event.received_bytes};
        mpi_tracker_add_bytes(request.node, &tally);
    }
    if (request.kind == MPI_EVENT_COLLECTIVE || event.peer != MPI_TRACKER_NOBODY)
        mpi_tracker_tell(made->thread, &event);
    single->communicator = event.communicator;
    single->peer = request.kind == MPI_EVENT_COLLECTIVE ? MPI_TRACKER_NOBODY : event.peer;
}

static int number_at(const struct mpi_made *made, unsigned at)
{
    return *(const int *)made->words[at];
}

/* An index that Fortran counts from 1. */
static int index_of(const struct mpi_made *made, int index)
{
    return made->language == MPI_LANGUAGE_FORTRAN ? index - 1 : index;
}

void mpi_pending_after_one(struct mpi_made *made)
{
    struct mpi_event single = mpi_made_event(made, 0);
    if (made->row->form == MPI_FORM_WAIT || number_at(made, 1))
        complete(made, made->key, made->statuses, &single);
    mpi_made_charge(made, &single);
}

void mpi_pending_after_all(struct mpi_made *made)
{
    struct mpi_event unused, none = mpi_made_event(made, 0);
    int requests = made->keys ? mpi_made_number(made, 0) : 0;
    if (made->row->form == MPI_FORM_TESTALL && !number_at(made, 2))
        requests = 0;
    for (int i = 0; i < requests; i++)
        complete(made, made->keys[i], made->statuses + (size_t)i * mpi_binding.abi.status_bytes, &unused);
    mpi_made_charge(made, &none);
}

void mpi_pending_after_any(struct mpi_made *made)
{
    struct mpi_event single = mpi_made_event(made, 0);
    int index = index_of(made, number_at(made, 2));
    bool ended = made->row->form == MPI_FORM_WAITANY || number_at(made, 3);
    if (ended && made->keys && index >= 0 && index < mpi_made_number(made, 0))
        complete(made, made->keys[index], made->statuses, &single);
    mpi_made_charge(made, &single);
}

void mpi_pending_after_some(struct mpi_made *made)
{
    struct mpi_event unused, none = mpi_made_event(made, 0);
    int ended = number_at(made, 2), requests = mpi_made_number(made, 0);
    for (int i = 0; made->keys && i < ended; i++) { /* negative: there were none to wait for */
        int index = index_of(made, ((const int *)made->words[3])[i]);
        if (index >= 0 && index < requests)
            complete(made, made->keys[index], made->statuses + (size_t)i * mpi_binding.abi.status_bytes,
                     &unused);
    }
    mpi_made_charge(made, &none);
}

/* Nobody waits for it. A send is told all the same. */
void mpi_pending_after_free(struct mpi_made *made)
{
    struct mpi_event none = mpi_made_event(made, 0), unused;
    complete(made, made->key, NULL, &unused);
    mpi_requests_drop(&mpi_requests, made->key);
    mpi_made_charge(made, &none);
}
