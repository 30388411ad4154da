#include "collect/agent/mpi_requests.h"

#define PROBES 32

struct mpi_requests mpi_requests, mpi_requests_probed;

static uint32_t place_of(mpi_word key)
{
    return (uint32_t)((key ^ key >> 17) * 0x9e3779b97f4a7c15u >> 32);
}

bool mpi_requests_add(struct mpi_requests *requests, mpi_word key, const struct mpi_request *row)
{
    uint32_t place = place_of(key);
    for (uint32_t i = 0; i < PROBES; i++) {
        uint32_t at = (place + i) % MPI_REQUESTS;
        mpi_word unused = 0;
        if (__atomic_compare_exchange_n(&requests->keys[at], &unused, key, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED)) {
            requests->rows[at] = *row;
            return true;
        }
    }
    return false;
}

/* MPI_REQUESTS when there is none. Places become free in any order: all are looked at. */
static uint32_t find(const struct mpi_requests *requests, mpi_word key)
{
    uint32_t place = place_of(key), found = MPI_REQUESTS;
    for (uint32_t i = 0; i < PROBES; i++) {
        uint32_t at = (place + i) % MPI_REQUESTS;
        if (__atomic_load_n(&requests->keys[at], __ATOMIC_ACQUIRE) != key)
            continue;
        if (found == MPI_REQUESTS || requests->rows[at].posted_ticks < requests->rows[found].posted_ticks)
            found = at;
    }
    return found;
}

bool mpi_requests_take(struct mpi_requests *requests, mpi_word key, struct mpi_request *row)
{
    uint32_t at = find(requests, key);
    if (at == MPI_REQUESTS)
        return false;
    *row = requests->rows[at];
    requests->rows[at].is_active = false;
    if (!row->is_persistent)
        __atomic_store_n(&requests->keys[at], 0, __ATOMIC_RELEASE);
    return row->is_active;
}

struct mpi_request *mpi_requests_start(struct mpi_requests *requests, mpi_word key, uint64_t ticks,
                                       uint32_t node)
{
    uint32_t at = find(requests, key);
    if (at == MPI_REQUESTS)
        return NULL;
    requests->rows[at].posted_ticks = ticks;
    requests->rows[at].node = node;
    requests->rows[at].is_active = true;
    return &requests->rows[at];
}

void mpi_requests_drop(struct mpi_requests *requests, mpi_word key)
{
    uint32_t at = find(requests, key);
    if (at != MPI_REQUESTS && requests->rows[at].is_persistent)
        __atomic_store_n(&requests->keys[at], 0, __ATOMIC_RELEASE);
}
