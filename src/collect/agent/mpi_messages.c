#include "collect/agent/mpi_messages.h"

#include "collect/agent/mpi_communicators.h"
#include "collect/agent/mpi_made.h"
#include "collect/agent/mpi_pending.h"
#include "collect/agent/mpi_requests.h"
#include "store/mpi_calls.h"

/* Where a message goes, or should come from: the peer at `at`, its tag and communicator behind. */
static const struct mpi_communicator *address(const struct mpi_made *made, struct mpi_event *event,
                                              unsigned peer_at, unsigned communicator_at)
{
    const struct mpi_communicator *communicator = mpi_made_communicator(made, communicator_at);
    event->number = (uint64_t)mpi_made_number(made, peer_at + 1);
    if (communicator) {
        event->communicator = communicator->row;
        event->peer = mpi_communicators_peer(&communicator->peers, mpi_made_number(made, peer_at));
    }
    return communicator;
}

/* A message to or from nobody is none. */
static void tell(struct mpi_made *made, struct mpi_event *event)
{
    event->node = mpi_tracker_node(made->thread);
    if (event->peer != MPI_TRACKER_NOBODY)
        mpi_tracker_tell(made->thread, event);
}

void mpi_messages_after_send(struct mpi_made *made)
{
    struct mpi_event event = mpi_made_event(made, MPI_EVENT_SENT);
    const struct mpi_communicator *communicator = address(made, &event, 3, 5);
    event.sent_bytes = event.peer == MPI_TRACKER_NOBODY ? 0 : mpi_made_bytes(made, 1, 2);
    mpi_made_charge(made, &event);
    if (!made->key) {
        tell(made, &event);
        return;
    }
    event.node = mpi_tracker_node(made->thread);
    mpi_pending_post(made, &event, communicator);
}

void mpi_messages_after_recv(struct mpi_made *made)
{
    struct mpi_event event = mpi_made_event(made, MPI_EVENT_RECEIVED);
    const struct mpi_communicator *communicator = address(made, &event, 3, 5);
    if (communicator)
        mpi_made_arrive(&event, &communicator->peers, made->statuses);
    mpi_made_charge(made, &event);
    tell(made, &event);
}

void mpi_messages_after_irecv(struct mpi_made *made)
{
    struct mpi_event event = mpi_made_event(made, MPI_EVENT_RECEIVED);
    const struct mpi_communicator *communicator = address(made, &event, 3, 5);
    mpi_made_charge(made, &event);
    event.node = mpi_tracker_node(made->thread);
    mpi_pending_post(made, &event, communicator);
}

/* Send_init, Recv_init: nothing happens until it is started. */
void mpi_messages_after_init(struct mpi_made *made)
{
    bool sends = made->row->form == MPI_FORM_SEND_INIT;
    struct mpi_event event = mpi_made_event(made, sends ? MPI_EVENT_SENT : MPI_EVENT_RECEIVED);
    const struct mpi_communicator *communicator = address(made, &event, 3, 5);
    const struct mpi_tally tally = {.call = sends ? MPI_CALL_SEND_INIT : MPI_CALL_RECV_INIT,
                                    .communicator = event.communicator,
                                    .peer = MPI_TRACKER_NOBODY};
    mpi_tracker_count(made->thread, &tally, mpi_made_ticks(made));
    event.sent_bytes = sends && event.peer != MPI_TRACKER_NOBODY ? mpi_made_bytes(made, 1, 2) : 0;
    struct mpi_request request = mpi_pending_request(&event, communicator);
    request.counted_as = MPI_CALL_START;
    request.is_persistent = true;
    request.is_active = false;
    mpi_pending_remember(&mpi_requests, made->key, &request);
}

/* Two messages; the time is charged to the one that was sent. */
void mpi_messages_after_exchange(struct mpi_made *made)
{
    bool replaces = made->row->form == MPI_FORM_SENDRECV_REPLACE;
    unsigned communicator_at = replaces ? 7 : 10;
    struct mpi_event sent = mpi_made_event(made, MPI_EVENT_SENT),
                     received = mpi_made_event(made, MPI_EVENT_RECEIVED);
    const struct mpi_communicator *communicator = address(made, &sent, 3, communicator_at);
    sent.sent_bytes = sent.peer == MPI_TRACKER_NOBODY ? 0 : mpi_made_bytes(made, 1, 2);
    mpi_made_charge(made, &sent);
    tell(made, &sent);
    if (!communicator)
        return;
    received.communicator = communicator->row;
    mpi_made_arrive(&received, &communicator->peers, made->statuses);
    const struct mpi_tally tally = {.call = made->row->call,
                                    .communicator = received.communicator,
                                    .peer = received.peer,
                                    .received_bytes = received.received_bytes};
    if (received.received_bytes)
        mpi_tracker_add_bytes(mpi_tracker_node(made->thread), &tally);
    tell(made, &received);
}

/* ---- messages that were probed ---- */

void mpi_messages_after_probe(struct mpi_made *made)
{
    struct mpi_event event = mpi_made_event(made, 0);
    const struct mpi_communicator *communicator = address(made, &event, 0, 2);
    if (made->row->form == MPI_FORM_PROBE && communicator && made->row->call == MPI_CALL_PROBE)
        event.peer = mpi_communicators_peer(&communicator->peers, mpi_made_source(made->statuses));
    mpi_made_charge(made, &event);
    if (made->row->form == MPI_FORM_PROBE)
        return;
    bool polls = made->row->form == MPI_FORM_IMPROBE;
    if (polls && !*(const int *)made->words[3])
        return;
    struct mpi_request request = mpi_pending_request(&event, communicator);
    request.posted_ticks = polls ? 0 : made->start_ticks; /* nobody waited */
    mpi_pending_remember(&mpi_requests_probed,
                         mpi_made_handle_at(made, polls ? 4 : 3, 0, mpi_binding.message_of), &request);
}

/* The time that the probe waited for the message is the receive's: the two are one for who looks at it. */
void mpi_messages_after_mrecv(struct mpi_made *made)
{
    struct mpi_event event = mpi_made_event(made, MPI_EVENT_RECEIVED);
    struct mpi_request probed = {0};
    mpi_requests_take(&mpi_requests_probed, made->key, &probed);
    event.communicator = probed.communicator;
    if (probed.posted_ticks)
        event.start_ticks = event.posted_ticks = probed.posted_ticks;
    mpi_made_arrive(&event, &probed.peers, made->statuses);
    mpi_made_charge(made, &event);
    tell(made, &event);
}

void mpi_messages_after_imrecv(struct mpi_made *made)
{
    struct mpi_event event = mpi_made_event(made, MPI_EVENT_RECEIVED);
    struct mpi_request probed = {0};
    mpi_requests_take(&mpi_requests_probed, made->key, &probed);
    event.communicator = probed.communicator;
    mpi_made_charge(made, &event);
    event.node = mpi_tracker_node(made->thread);
    struct mpi_request request = mpi_pending_request(&event, NULL);
    request.peers = probed.peers;
    mpi_pending_remember(&mpi_requests, mpi_made_handle_at(made, 4, 0, mpi_binding.request_of), &request);
}
