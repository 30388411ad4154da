#include "collect/agent/mpi_call.h"

#include <errno.h>
#include <string.h>

#include "collect/agent/mpi_collectives.h"
#include "collect/agent/mpi_communicators.h"
#include "collect/agent/mpi_job.h"
#include "collect/agent/mpi_pickle.h"
#include "collect/agent/mpi_requests.h"
#include "store/mpi_calls.h"

/* ---- arguments ---- */

uint64_t mpi_call_type_bytes(const struct mpi_made *made, unsigned at)
{
    int size = 0;
    mpi_binding.Type_size(mpi_call_handle(made, at, mpi_binding.type_of), (mpi_word)&size);
    return size > 0 ? (uint64_t)size : 0;
}

struct mpi_communicator *mpi_call_communicator(const struct mpi_made *made, unsigned at)
{
    return mpi_communicators_find(mpi_call_handle(made, at, mpi_binding.communicator_of));
}

/* Whether Fortran passes what the library has put there. */
static bool is_there(const void *const *where, mpi_word given)
{
    return where && *where && *where == (const void *)given;
}

bool mpi_call_is_in_place(const struct mpi_made *made, unsigned at)
{
    mpi_word given = made->words[at];
    if (made->language != MPI_LANGUAGE_FORTRAN)
        return given == mpi_binding.abi.in_place;
    return given == (mpi_word)mpi_binding.in_place_itself || is_there(mpi_binding.in_place, given);
}

static uint64_t bytes_of(const struct mpi_made *made, unsigned count_at)
{
    int64_t count = mpi_call_count(made, count_at);
    return count > 0 ? (uint64_t)count * mpi_call_type_bytes(made, count_at + 1) : 0;
}

/* Where the library writes the status is where we read it: ours, where the program wants none. */
static void see_status(struct mpi_made *made, unsigned at)
{
    bool is_ignored = made->language == MPI_LANGUAGE_FORTRAN
                          ? is_there(mpi_binding.status_ignored, made->words[at])
                          : made->words[at] == mpi_binding.abi.no_status;
    if (is_ignored)
        made->words[at] = (mpi_word)made->own_status;
    made->statuses = (const char *)made->words[at];
}

static void see_statuses(struct mpi_made *made, unsigned at, void *own)
{
    bool is_ignored = made->language == MPI_LANGUAGE_FORTRAN
                          ? is_there(mpi_binding.statuses_ignored, made->words[at])
                          : made->words[at] == mpi_binding.abi.no_status;
    if (is_ignored)
        made->words[at] = (mpi_word)own;
    made->statuses = (const char *)made->words[at];
}

struct arrival {
    int source, tag;
    uint64_t bytes;
};

static struct arrival read_status(const char *status)
{
    struct arrival arrival = {0};
    int64_t bytes = 0;
    memcpy(&arrival.source, status + mpi_binding.abi.status_source, sizeof arrival.source);
    memcpy(&arrival.tag, status + mpi_binding.abi.status_tag, sizeof arrival.tag);
    mpi_binding.Get_elements_x((mpi_word)status, mpi_binding.abi.byte, (mpi_word)&bytes);
    arrival.bytes = bytes > 0 ? (uint64_t)bytes : 0;
    return arrival;
}

/* ---- messages ---- */

static struct mpi_event begin_event(const struct mpi_made *made, enum mpi_event_kind kind)
{
    return (struct mpi_event){.call = made->row->call,
                              .kind = (uint8_t)kind,
                              .peer = MPI_TRACKER_NOBODY,
                              .start_ticks = made->start_ticks,
                              .end_ticks = made->end_ticks,
                              .posted_ticks = made->start_ticks};
}

static struct mpi_request request_of(const struct mpi_event *event,
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

static void remember(struct mpi_requests *requests, mpi_word key, const struct mpi_request *request)
{
    if (key != mpi_binding.abi.no_request && !mpi_requests_add(requests, key, request))
        __atomic_fetch_add(&mpi_tracker_area()->lost_requests, 1, __ATOMIC_RELAXED);
}

void mpi_call_post(struct mpi_made *made, const struct mpi_event *event,
                   const struct mpi_communicator *communicator)
{
    const struct mpi_request request = request_of(event, communicator);
    remember(&mpi_requests, made->key, &request);
}

/* Where a message goes, or should come from: the peer at `at`, its tag and communicator behind. */
static const struct mpi_communicator *address(const struct mpi_made *made, struct mpi_event *event,
                                              unsigned peer_at, unsigned communicator_at)
{
    const struct mpi_communicator *communicator = mpi_call_communicator(made, communicator_at);
    event->number = (uint64_t)mpi_call_number(made, peer_at + 1);
    if (communicator) {
        event->communicator = communicator->row;
        event->peer = mpi_communicators_peer(&communicator->peers, mpi_call_number(made, peer_at));
    }
    return communicator;
}

static void count(struct mpi_made *made, const struct mpi_event *event)
{
    const struct mpi_tally tally = {made->row->call, event->communicator, event->peer, event->sent_bytes,
                                    event->received_bytes};
    mpi_tracker_count(made->thread, &tally, mpi_call_ticks(made));
}

/* A message to or from nobody is none. */
static void tell(struct mpi_made *made, struct mpi_event *event)
{
    event->node = mpi_tracker_node(made->thread);
    if (event->peer != MPI_TRACKER_NOBODY)
        mpi_tracker_tell(made->thread, event);
}

static void after_send(struct mpi_made *made)
{
    struct mpi_event event = begin_event(made, MPI_EVENT_SENT);
    const struct mpi_communicator *communicator = address(made, &event, 3, 5);
    event.sent_bytes = event.peer == MPI_TRACKER_NOBODY ? 0 : bytes_of(made, 1);
    count(made, &event);
    if (!made->key) {
        tell(made, &event);
        return;
    }
    event.node = mpi_tracker_node(made->thread);
    mpi_call_post(made, &event, communicator);
}

/* What has come, as the status says. */
static void arrive(struct mpi_event *event, const struct mpi_peers *peers, const char *status)
{
    struct arrival arrival = read_status(status);
    event->peer = mpi_communicators_peer(peers, arrival.source);
    event->number = (uint64_t)arrival.tag;
    event->received_bytes = event->peer == MPI_TRACKER_NOBODY ? 0 : arrival.bytes;
}

static void after_recv(struct mpi_made *made)
{
    struct mpi_event event = begin_event(made, MPI_EVENT_RECEIVED);
    const struct mpi_communicator *communicator = address(made, &event, 3, 5);
    if (communicator)
        arrive(&event, &communicator->peers, made->statuses);
    count(made, &event);
    tell(made, &event);
}

static void after_irecv(struct mpi_made *made)
{
    struct mpi_event event = begin_event(made, MPI_EVENT_RECEIVED);
    const struct mpi_communicator *communicator = address(made, &event, 3, 5);
    count(made, &event);
    event.node = mpi_tracker_node(made->thread);
    mpi_call_post(made, &event, communicator);
}

/* Send_init, Recv_init: nothing happens until it is started. */
static void after_init_of(struct mpi_made *made)
{
    bool sends = made->row->form == MPI_FORM_SEND_INIT;
    struct mpi_event event = begin_event(made, sends ? MPI_EVENT_SENT : MPI_EVENT_RECEIVED);
    const struct mpi_communicator *communicator = address(made, &event, 3, 5);
    const struct mpi_tally tally = {.communicator = event.communicator, .peer = event.peer};
    mpi_tracker_count(made->thread, &tally, mpi_call_ticks(made));
    event.sent_bytes = sends && event.peer != MPI_TRACKER_NOBODY ? bytes_of(made, 1) : 0;
    struct mpi_request request = request_of(&event, communicator);
    request.counted_as = MPI_CALL_START;
    request.is_persistent = true;
    request.is_active = false;
    remember(&mpi_requests, made->key, &request);
}

/* Two messages; the time is charged to the one that was sent. */
static void after_exchange(struct mpi_made *made)
{
    bool replaces = made->row->form == MPI_FORM_SENDRECV_REPLACE;
    unsigned communicator_at = replaces ? 7 : 10;
    struct mpi_event sent = begin_event(made, MPI_EVENT_SENT),
                     received = begin_event(made, MPI_EVENT_RECEIVED);
    const struct mpi_communicator *communicator = address(made, &sent, 3, communicator_at);
    sent.sent_bytes = sent.peer == MPI_TRACKER_NOBODY ? 0 : bytes_of(made, 1);
    count(made, &sent);
    tell(made, &sent);
    if (!communicator)
        return;
    received.communicator = communicator->row;
    arrive(&received, &communicator->peers, made->statuses);
    const struct mpi_tally tally = {.call = made->row->call,
                                    .communicator = received.communicator,
                                    .peer = received.peer,
                                    .received_bytes = received.received_bytes};
    if (received.received_bytes)
        mpi_tracker_add_bytes(mpi_tracker_node(made->thread), &tally);
    tell(made, &received);
}

/* ---- messages that were probed ---- */

static void after_probe(struct mpi_made *made)
{
    struct mpi_event event = begin_event(made, 0);
    const struct mpi_communicator *communicator = address(made, &event, 0, 2);
    if (made->row->form == MPI_FORM_PROBE && communicator && made->row->call == MPI_CALL_PROBE)
        event.peer = mpi_communicators_peer(&communicator->peers, read_status(made->statuses).source);
    count(made, &event);
    if (made->row->form == MPI_FORM_PROBE)
        return;
    bool polls = made->row->form == MPI_FORM_IMPROBE;
    if (polls && !*(const int *)made->words[3])
        return;
    struct mpi_request request = request_of(&event, communicator);
    request.posted_ticks = polls ? 0 : made->start_ticks; /* nobody waited */
    remember(&mpi_requests_probed, mpi_call_handle_at(made, polls ? 4 : 3, 0, mpi_binding.message_of),
             &request);
}

/* The time that the probe waited for the message is the receive's: the two are one for who looks at it. */
static void after_mrecv(struct mpi_made *made)
{
    struct mpi_event event = begin_event(made, MPI_EVENT_RECEIVED);
    struct mpi_request probed = {0};
    mpi_requests_take(&mpi_requests_probed, made->key, &probed);
    event.communicator = probed.communicator;
    if (probed.posted_ticks)
        event.start_ticks = event.posted_ticks = probed.posted_ticks;
    arrive(&event, &probed.peers, made->statuses);
    count(made, &event);
    tell(made, &event);
}

static void after_imrecv(struct mpi_made *made)
{
    struct mpi_event event = begin_event(made, MPI_EVENT_RECEIVED);
    struct mpi_request probed = {0};
    mpi_requests_take(&mpi_requests_probed, made->key, &probed);
    event.communicator = probed.communicator;
    count(made, &event);
    event.node = mpi_tracker_node(made->thread);
    struct mpi_request request = request_of(&event, NULL);
    request.peers = probed.peers;
    remember(&mpi_requests, mpi_call_handle_at(made, 4, 0, mpi_binding.request_of), &request);
}

/* ---- what was posted before ---- */

/* One of them has ended in this call. `single` is given its partner, for the total of the call. */
static void complete(struct mpi_made *made, mpi_word key, const char *status, struct mpi_event *single)
{
    struct mpi_request request;
    if (key == mpi_binding.abi.no_request || !mpi_requests_take(&mpi_requests, key, &request))
        return;
    struct mpi_event event = begin_event(made, request.kind);
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
        arrive(&event, &request.peers, status);
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

static void after_one(struct mpi_made *made)
{
    struct mpi_event single = begin_event(made, 0);
    if (made->row->form == MPI_FORM_WAIT || number_at(made, 1))
        complete(made, made->key, made->statuses, &single);
    count(made, &single);
}

static void after_all(struct mpi_made *made)
{
    struct mpi_event unused, none = begin_event(made, 0);
    int requests = made->keys ? mpi_call_number(made, 0) : 0;
    if (made->row->form == MPI_FORM_TESTALL && !number_at(made, 2))
        requests = 0;
    for (int i = 0; i < requests; i++)
        complete(made, made->keys[i], made->statuses + (size_t)i * mpi_binding.abi.status_bytes, &unused);
    count(made, &none);
}

static void after_any(struct mpi_made *made)
{
    struct mpi_event single = begin_event(made, 0);
    int index = index_of(made, number_at(made, 2));
    bool ended = made->row->form == MPI_FORM_WAITANY || number_at(made, 3);
    if (ended && made->keys && index >= 0 && index < mpi_call_number(made, 0))
        complete(made, made->keys[index], made->statuses, &single);
    count(made, &single);
}

static void after_some(struct mpi_made *made)
{
    struct mpi_event unused, none = begin_event(made, 0);
    int ended = number_at(made, 2), requests = mpi_call_number(made, 0);
    for (int i = 0; made->keys && i < ended; i++) { /* negative: there were none to wait for */
        int index = index_of(made, ((const int *)made->words[3])[i]);
        if (index >= 0 && index < requests)
            complete(made, made->keys[index], made->statuses + (size_t)i * mpi_binding.abi.status_bytes,
                     &unused);
    }
    count(made, &none);
}

static void start_one(struct mpi_made *made, mpi_word key, struct mpi_event *single)
{
    uint32_t node = mpi_tracker_node(made->thread);
    const struct mpi_request *request = mpi_requests_start(&mpi_requests, key, made->start_ticks, node);
    if (!request)
        return;
    single->communicator = request->communicator;
    single->peer = request->peer;
    single->sent_bytes = request->sent_bytes;
}

static void after_start(struct mpi_made *made)
{
    bool all = made->row->form == MPI_FORM_STARTALL;
    int requests = all ? mpi_call_number(made, 0) : 1;
    struct mpi_event none = begin_event(made, 0);
    for (int i = 0; i < requests; i++) {
        struct mpi_event single = begin_event(made, 0);
        start_one(made, mpi_call_handle_at(made, all, (size_t)i, mpi_binding.request_of), &single);
        const struct mpi_tally tally = {MPI_CALL_START, single.communicator, single.peer, single.sent_bytes,
                                        0};
        if (!all)
            none = single;
        else if (single.sent_bytes)
            mpi_tracker_add_bytes(mpi_tracker_node(made->thread), &tally);
    }
    count(made, &none);
}

/* Nobody waits for it. A send is told all the same. */
static void after_request_free(struct mpi_made *made)
{
    struct mpi_event none = begin_event(made, 0), unused;
    complete(made, made->key, NULL, &unused);
    mpi_requests_drop(&mpi_requests, made->key);
    count(made, &none);
}

/* ---- the others ---- */

static void after_on(struct mpi_made *made)
{
    struct mpi_event event = begin_event(made, 0);
    const struct mpi_communicator *communicator = mpi_call_communicator(made, made->row->at);
    event.communicator = communicator ? communicator->row : 0;
    count(made, &event);
}

static void after_move(struct mpi_made *made)
{
    struct mpi_event event = begin_event(made, 0);
    uint64_t bytes = bytes_of(made, made->row->at);
    *(made->row->form == MPI_FORM_PUT ? &event.sent_bytes : &event.received_bytes) = bytes;
    count(made, &event);
}

static void after_other(struct mpi_made *made)
{
    const struct mpi_event event = begin_event(made, 0);
    count(made, &event);
}

static void after_make(struct mpi_made *made)
{
    struct mpi_event event = begin_event(made, 0);
    const struct mpi_communicator *from = mpi_call_communicator(made, made->row->from);
    event.communicator = from ? from->row : 0;
    mpi_communicators_find(mpi_call_handle_at(made, made->row->at, 0, mpi_binding.communicator_of));
    count(made, &event);
}

static void after_name(struct mpi_made *made)
{
    if (made->language == MPI_LANGUAGE_C)
        mpi_communicators_name(mpi_call_handle(made, 0, NULL), (const char *)made->words[1]);
    after_other(made);
}

static void after_init(struct mpi_made *made)
{
    mpi_job_begin();
    after_other(made);
}

static void after_finalize(struct mpi_made *made)
{
    mpi_job_end();
    after_other(made);
}

static void after_pcontrol(struct mpi_made *made)
{
    mpi_tracker_pause(MPI_PAUSED_BY_PROGRAM, mpi_call_number(made, 0) == 0);
}

typedef void after_form(struct mpi_made *made);
static after_form *const after[] = {
    [MPI_FORM_SEND] = after_send,
    [MPI_FORM_SEND_INIT] = after_init_of,
    [MPI_FORM_RECV] = after_recv,
    [MPI_FORM_IRECV] = after_irecv,
    [MPI_FORM_RECV_INIT] = after_init_of,
    [MPI_FORM_MRECV] = after_mrecv,
    [MPI_FORM_IMRECV] = after_imrecv,
    [MPI_FORM_SENDRECV] = after_exchange,
    [MPI_FORM_SENDRECV_REPLACE] = after_exchange,
    [MPI_FORM_WAIT] = after_one,
    [MPI_FORM_WAITALL] = after_all,
    [MPI_FORM_WAITANY] = after_any,
    [MPI_FORM_WAITSOME] = after_some,
    [MPI_FORM_TEST] = after_one,
    [MPI_FORM_TESTALL] = after_all,
    [MPI_FORM_TESTANY] = after_any,
    [MPI_FORM_START] = after_start,
    [MPI_FORM_STARTALL] = after_start,
    [MPI_FORM_REQUEST_FREE] = after_request_free,
    [MPI_FORM_PROBE] = after_probe,
    [MPI_FORM_MPROBE] = after_probe,
    [MPI_FORM_IMPROBE] = after_probe,
    [MPI_FORM_BARRIER... MPI_FORM_ALLTOALLW] = mpi_collectives_after,
    [MPI_FORM_INIT] = after_init,
    [MPI_FORM_FINALIZE] = after_finalize,
    [MPI_FORM_PCONTROL] = after_pcontrol,
    [MPI_FORM_MAKE] = after_make,
    [MPI_FORM_FREE] = after_other,
    [MPI_FORM_NAME] = after_name,
    [MPI_FORM_ON] = after_on,
    [MPI_FORM_PUT] = after_move,
    [MPI_FORM_GET] = after_move,
    [MPI_FORM_OTHER] = after_other,
};

/* ---- before the call ---- */

/* Requests are gone after the call: their handles are kept, and statuses asked for in any case. */
static void see_requests(struct mpi_made *made, unsigned status_at, bool several)
{
    int given = mpi_call_number(made, 0);
    size_t requests = given > 0 ? (size_t)given : 0;
    size_t bytes = requests * (sizeof(mpi_word) + MPI_ABI_STATUS_BYTES);
    made->keys = mpi_tracker_scratch(made->thread, bytes);
    for (size_t i = 0; made->keys && i < requests; i++)
        made->keys[i] = mpi_call_handle_at(made, 1, i, mpi_binding.request_of);
    if (!several)
        see_status(made, status_at);
    else if (made->keys)
        see_statuses(made, status_at, made->keys + requests);
}

static void before(struct mpi_made *made)
{
    switch (made->row->form) {
    case MPI_FORM_RECV:
        see_status(made, 6);
        break;
    case MPI_FORM_SENDRECV:
        see_status(made, 11);
        break;
    case MPI_FORM_SENDRECV_REPLACE:
        see_status(made, 8);
        break;
    case MPI_FORM_PROBE:
        see_status(made, made->row->arguments - 1u);
        break;
    case MPI_FORM_MRECV:
        see_status(made, 4);
        made->key = mpi_call_handle_at(made, 3, 0, mpi_binding.message_of);
        break;
    case MPI_FORM_IMRECV:
        made->key = mpi_call_handle_at(made, 3, 0, mpi_binding.message_of);
        break;
    case MPI_FORM_WAIT:
    case MPI_FORM_TEST:
        see_status(made, made->row->arguments - 1u);
        made->key = mpi_call_handle_at(made, 0, 0, mpi_binding.request_of);
        break;
    case MPI_FORM_REQUEST_FREE:
        made->key = mpi_call_handle_at(made, 0, 0, mpi_binding.request_of);
        break;
    case MPI_FORM_WAITALL:
    case MPI_FORM_WAITSOME:
    case MPI_FORM_TESTALL:
        see_requests(made, made->row->arguments - 1u, true);
        break;
    case MPI_FORM_WAITANY:
    case MPI_FORM_TESTANY:
        see_requests(made, made->row->arguments - 1u, false);
        break;
    case MPI_FORM_FREE:
        mpi_communicators_forget(mpi_call_handle_at(made, 0, 0, mpi_binding.communicator_of));
        break;
    case MPI_FORM_FINALIZE:
        mpi_job_before_end();
        break;
    default:
        break;
    }
}

/* What the call has made, where it does not block: the last argument. */
static void take_request(struct mpi_made *made)
{
    static const uint8_t blocking[] = {
        [MPI_FORM_SEND] = 6,         [MPI_FORM_BARRIER] = 1,   [MPI_FORM_BCAST] = 5,
        [MPI_FORM_REDUCE] = 7,       [MPI_FORM_ALLREDUCE] = 6, [MPI_FORM_REDUCE_SPLIT] = 6,
        [MPI_FORM_REDUCE_BLOCK] = 6, [MPI_FORM_GATHER] = 8,    [MPI_FORM_GATHERV] = 9,
        [MPI_FORM_SCATTER] = 8,      [MPI_FORM_SCATTERV] = 9,  [MPI_FORM_ALLGATHER] = 7,
        [MPI_FORM_ALLGATHERV] = 8,   [MPI_FORM_ALLTOALL] = 7,  [MPI_FORM_ALLTOALLV] = 9,
        [MPI_FORM_ALLTOALLW] = 9,    [MPI_FORM_SEND_INIT] = 6, [MPI_FORM_IRECV] = 6,
        [MPI_FORM_RECV_INIT] = 6,
    };
    uint8_t form = made->row->form;
    if (form < sizeof blocking && blocking[form] && made->row->arguments > blocking[form])
        made->key = mpi_call_handle_at(made, made->row->arguments - 1u, 0, mpi_binding.request_of);
}

/* ---- the call ---- */

/* What is passed beyond a function's arguments nobody looks at. */
static int invoke(const struct mpi_function_row *row, enum mpi_language language, const mpi_word *w)
{
    mpi_function *function = (mpi_function *)row->originals[language];
    if (row->arguments <= 6 && language != MPI_LANGUAGE_FORTRAN)
        return function(w[0], w[1], w[2], w[3], w[4], w[5]);
    if (row->arguments <= 8)
        return function(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9]);
    return function(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11], w[12], w[13],
                    w[14], w[15]);
}

/* Fortran is told by an argument. Some functions have fewer there than in C: these do not fail and return. */
static bool has_failed(const struct mpi_made *made, int result)
{
    const struct mpi_function_row *row = made->row;
    if (made->language != MPI_LANGUAGE_FORTRAN)
        return result != 0;
    bool has_fewer =
        row->form == MPI_FORM_INIT || row->form == MPI_FORM_FINALIZE || row->form == MPI_FORM_PCONTROL;
    return !has_fewer && *(const int *)made->words[row->arguments] != 0;
}

static int call_counted(struct mpi_made *made)
{
    before(made);
    made->start_ticks = mpi_tracker_now();
    int result = invoke(made->row, made->language, made->words);
    made->end_ticks = mpi_tracker_now();
    int saved = errno;
    if (mpi_pickle_is_wanted)
        mpi_pickle_ask();
    if (has_failed(made, result)) {
        after_other(made);
    } else {
        take_request(made);
        after[made->row->form](made);
    }
    errno = saved;
    return result;
}

int mpi_call(const struct mpi_function_row *row, enum mpi_language language, const mpi_word *words)
{
    struct mpi_thread *thread = mpi_tracker_begin(mpi_call_name(row->call));
    if (!thread)
        return invoke(row, language, words);
    struct mpi_made made;
    made.row = row;
    made.language = language;
    made.thread = thread;
    made.key = 0;
    made.keys = NULL;
    made.statuses = NULL;
    memcpy(made.words, words, sizeof made.words);
    bool counts = row->form == MPI_FORM_INIT || mpi_job_runs();
    int result = counts ? call_counted(&made) : invoke(row, language, words);
    mpi_tracker_end(thread);
    return result;
}
