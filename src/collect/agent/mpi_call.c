#include "collect/agent/mpi_call.h"

#include <errno.h>
#include <string.h>

#include "collect/agent/mpi_collectives.h"
#include "collect/agent/mpi_communicators.h"
#include "collect/agent/mpi_job.h"
#include "collect/agent/mpi_made.h"
#include "collect/agent/mpi_messages.h"
#include "collect/agent/mpi_pending.h"
#include "collect/agent/mpi_pickle.h"
#include "store/mpi_calls.h"

/* ---- before it ---- */

static void before(struct mpi_made *made)
{
    switch (made->row->form) {
    case MPI_FORM_RECV:
        mpi_made_see_status(made, 6);
        break;
    case MPI_FORM_SENDRECV:
        mpi_made_see_status(made, 11);
        break;
    case MPI_FORM_SENDRECV_REPLACE:
        mpi_made_see_status(made, 8);
        break;
    case MPI_FORM_PROBE:
        mpi_made_see_status(made, made->row->arguments - 1u);
        break;
    case MPI_FORM_MRECV:
        mpi_made_see_status(made, 4);
        made->key = mpi_made_handle_at(made, 3, 0, mpi_binding.message_of);
        break;
    case MPI_FORM_IMRECV:
        made->key = mpi_made_handle_at(made, 3, 0, mpi_binding.message_of);
        break;
    case MPI_FORM_WAIT:
    case MPI_FORM_TEST:
        mpi_made_see_status(made, made->row->arguments - 1u);
        made->key = mpi_made_handle_at(made, 0, 0, mpi_binding.request_of);
        break;
    case MPI_FORM_REQUEST_FREE:
        made->key = mpi_made_handle_at(made, 0, 0, mpi_binding.request_of);
        break;
    case MPI_FORM_WAITALL:
    case MPI_FORM_WAITSOME:
    case MPI_FORM_TESTALL:
        mpi_pending_before(made, made->row->arguments - 1u, true);
        break;
    case MPI_FORM_WAITANY:
    case MPI_FORM_TESTANY:
        mpi_pending_before(made, made->row->arguments - 1u, false);
        break;
    case MPI_FORM_FREE:
        mpi_communicators_forget(mpi_made_handle_at(made, 0, 0, mpi_binding.communicator_of));
        break;
    case MPI_FORM_FINALIZE:
        mpi_job_before_end();
        break;
    default:
        break;
    }
}

/* ---- after it ---- */

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
        made->key = mpi_made_handle_at(made, made->row->arguments - 1u, 0, mpi_binding.request_of);
}

static void after_on(struct mpi_made *made)
{
    struct mpi_event event = mpi_made_event(made, 0);
    const struct mpi_communicator *communicator = mpi_made_communicator(made, made->row->at);
    event.communicator = communicator ? communicator->row : 0;
    mpi_made_charge(made, &event);
}

static void after_move(struct mpi_made *made)
{
    struct mpi_event event = mpi_made_event(made, 0);
    uint64_t bytes = mpi_made_bytes(made, made->row->at, made->row->at + 1u);
    *(made->row->form == MPI_FORM_PUT ? &event.sent_bytes : &event.received_bytes) = bytes;
    mpi_made_charge(made, &event);
}

static void after_other(struct mpi_made *made)
{
    const struct mpi_event event = mpi_made_event(made, 0);
    mpi_made_charge(made, &event);
}

static void after_make(struct mpi_made *made)
{
    struct mpi_event event = mpi_made_event(made, 0);
    const struct mpi_communicator *from = mpi_made_communicator(made, made->row->from);
    event.communicator = from ? from->row : 0;
    mpi_communicators_find(mpi_made_handle_at(made, made->row->at, 0, mpi_binding.communicator_of));
    mpi_made_charge(made, &event);
}

static void after_name(struct mpi_made *made)
{
    if (made->language == MPI_LANGUAGE_C)
        mpi_communicators_name(mpi_made_handle(made, 0, NULL), (const char *)made->words[1]);
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
    mpi_tracker_pause(MPI_PAUSED_BY_PROGRAM, mpi_made_number(made, 0) == 0);
}

typedef void after_form(struct mpi_made *made);
static after_form *const after[] = {
    [MPI_FORM_SEND] = mpi_messages_after_send,
    [MPI_FORM_SEND_INIT] = mpi_messages_after_init,
    [MPI_FORM_RECV] = mpi_messages_after_recv,
    [MPI_FORM_IRECV] = mpi_messages_after_irecv,
    [MPI_FORM_RECV_INIT] = mpi_messages_after_init,
    [MPI_FORM_MRECV] = mpi_messages_after_mrecv,
    [MPI_FORM_IMRECV] = mpi_messages_after_imrecv,
    [MPI_FORM_SENDRECV] = mpi_messages_after_exchange,
    [MPI_FORM_SENDRECV_REPLACE] = mpi_messages_after_exchange,
    [MPI_FORM_WAIT] = mpi_pending_after_one,
    [MPI_FORM_WAITALL] = mpi_pending_after_all,
    [MPI_FORM_WAITANY] = mpi_pending_after_any,
    [MPI_FORM_WAITSOME] = mpi_pending_after_some,
    [MPI_FORM_TEST] = mpi_pending_after_one,
    [MPI_FORM_TESTALL] = mpi_pending_after_all,
    [MPI_FORM_TESTANY] = mpi_pending_after_any,
    [MPI_FORM_START] = mpi_pending_after_start,
    [MPI_FORM_STARTALL] = mpi_pending_after_start_all,
    [MPI_FORM_REQUEST_FREE] = mpi_pending_after_free,
    [MPI_FORM_PROBE] = mpi_messages_after_probe,
    [MPI_FORM_MPROBE] = mpi_messages_after_probe,
    [MPI_FORM_IMPROBE] = mpi_messages_after_probe,
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

/* ---- itself ---- */

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
    made->start_ticks = mpi_tracker_enter(made->thread, made->row->call);
    int result = invoke(made->row, made->language, made->words);
    made->end_ticks = mpi_tracker_leave(made->thread);
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
