#include "collect/agent/mpi_made.h"

#include <string.h>

#include "collect/agent/mpi_communicators.h"

/* ---- arguments ---- */

uint64_t mpi_made_type_bytes(const struct mpi_made *made, unsigned at)
{
    int size = 0;
    mpi_binding.Type_size(mpi_made_handle(made, at, mpi_binding.type_of), (mpi_word)&size);
    return size > 0 ? (uint64_t)size : 0;
}

uint64_t mpi_made_bytes(const struct mpi_made *made, unsigned count_at, unsigned type_at)
{
    int64_t count = mpi_made_count(made, count_at);
    return count > 0 ? (uint64_t)count * mpi_made_type_bytes(made, type_at) : 0;
}

struct mpi_communicator *mpi_made_communicator(const struct mpi_made *made, unsigned at)
{
    return mpi_communicators_find(mpi_made_handle(made, at, mpi_binding.communicator_of));
}

/* Whether Fortran passes what the library has put there. */
static bool is_there(const void *const *where, mpi_word given)
{
    return where && *where && *where == (const void *)given;
}

bool mpi_made_is_in_place(const struct mpi_made *made, unsigned at)
{
    mpi_word given = made->words[at];
    if (made->language != MPI_LANGUAGE_FORTRAN)
        return given == mpi_binding.abi.in_place;
    return given == (mpi_word)mpi_binding.in_place_itself || is_there(mpi_binding.in_place, given);
}

/* ---- statuses ---- */

static void see(struct mpi_made *made, unsigned at, const void *const *fortran_ignores, void *own)
{
    bool is_ignored = made->language == MPI_LANGUAGE_FORTRAN ? is_there(fortran_ignores, made->words[at])
                                                             : made->words[at] == mpi_binding.abi.no_status;
    if (is_ignored)
        made->words[at] = (mpi_word)own;
    made->statuses = (const char *)made->words[at];
}

void mpi_made_see_status(struct mpi_made *made, unsigned at)
{
    see(made, at, mpi_binding.status_ignored, made->own_status);
}

void mpi_made_see_statuses(struct mpi_made *made, unsigned at, void *own)
{
    see(made, at, mpi_binding.statuses_ignored, own);
}

int mpi_made_source(const char *status)
{
    int source;
    memcpy(&source, status + mpi_binding.abi.status_source, sizeof source);
    return source;
}

void mpi_made_arrive(struct mpi_event *event, const struct mpi_peers *peers, const char *status)
{
    int tag;
    int64_t bytes = 0;
    memcpy(&tag, status + mpi_binding.abi.status_tag, sizeof tag);
    mpi_binding.Get_elements_x((mpi_word)status, mpi_binding.abi.byte, (mpi_word)&bytes);
    event->peer = mpi_communicators_peer(peers, mpi_made_source(status));
    event->number = (uint64_t)tag;
    event->received_bytes = event->peer == MPI_TRACKER_NOBODY || bytes < 0 ? 0 : (uint64_t)bytes;
}
