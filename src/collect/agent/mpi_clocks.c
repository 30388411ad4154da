#include "collect/agent/mpi_clocks.h"

#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/agent/mpi_abi.h"
#include "collect/agent/mpi_communicators.h"
#include "collect/agent/mpi_tracker.h"
#include "collect/agent/own_calls.h"
#include "collect/agent/own_memory.h"

#define ROUNDS 20
#define TAG    1

static mpi_word own; /* a communicator that nobody else speaks in */
static bool is_open;
static bool *differs; /* by rank; NULL = all have the same clock */
static uint32_t ranks;

/* ---- whose clock is whose ---- */

static uint64_t mix(uint64_t hash, const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ (uint8_t)text[i]) * 0x100000001b3u;
    return hash;
}

/* The same for all processes that have one clock. */
static uint64_t clock_identity(void)
{
    char text[256];
    uint64_t hash = 0xcbf29ce484222325u;
    int fd = own_calls_open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? 0 : own_calls_read(fd, text, sizeof text);
    if (fd >= 0)
        own_calls_close(fd);
    hash = mix(hash, text, size > 0 ? (size_t)size : 0);
    size = readlink("/proc/self/ns/time", text, sizeof text);
    hash = mix(hash, text, size > 0 ? (size_t)size : 0);
    memset(text, 0, sizeof text);
    gethostname(text, sizeof text - 1);
    return mix(hash, text, strlen(text));
}

/* Fills `differs`. */
static void compare_identities(void)
{
    int size = 0;
    mpi_binding.Comm_size(own, (mpi_word)&size);
    ranks = size > 0 ? (uint32_t)size : 0;
    size_t bytes = ranks * sizeof(uint64_t);
    uint64_t mine = clock_identity(), *all = own_memory_map(bytes);
    bool *found = own_memory_map(ranks), any = false;
    if (!all || !found)
        return;
    mpi_binding.Allgather((mpi_word)&mine, sizeof mine, mpi_binding.abi.byte, (mpi_word)all, sizeof mine,
                          mpi_binding.abi.byte, own);
    for (uint32_t i = 0; i < ranks; i++)
        any |= found[i] = all[i] != all[0];
    own_memory_unmap(all, bytes);
    if (any)
        differs = found;
    else
        own_memory_unmap(found, ranks);
}

/* ---- asking ---- */

static void send(uint64_t *time, uint32_t rank)
{
    mpi_binding.Send((mpi_word)time, sizeof *time, mpi_binding.abi.byte, (mpi_word)rank, TAG, own);
}

static void receive(uint64_t *time, uint32_t rank)
{
    uint64_t status[MPI_ABI_STATUS_BYTES / sizeof(uint64_t)];
    mpi_binding.Recv((mpi_word)time, sizeof *time, mpi_binding.abi.byte, (mpi_word)rank, TAG, own,
                     (mpi_word)status);
}

static void answer(uint32_t rank)
{
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t time;
        receive(&time, rank);
        time = clock_monotonic_ns();
        send(&time, rank);
    }
}

static struct mpi_clock_row ask(void)
{
    struct mpi_clock_row best = {.error_ns = UINT64_MAX};
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t before = clock_monotonic_ns(), time = before;
        send(&time, 0);
        receive(&time, 0);
        uint64_t after = clock_monotonic_ns(), error = (after - before + 1) / 2;
        if (error < best.error_ns)
            best = (struct mpi_clock_row){
                .local_ns = before + (after - before) / 2, .reference_ns = (int64_t)time, .error_ns = error};
    }
    return best;
}

static void add_row(struct mpi_clock_row row)
{
    struct mpi_area *area = mpi_tracker_area();
    uint32_t count = area->clock_count;
    if (count >= MPI_AREA_CLOCKS)
        return;
    area->clocks[count] = row;
    __atomic_store_n(&area->clock_count, count + 1, __ATOMIC_RELEASE);
}

static void measure(void)
{
    uint32_t rank = mpi_communicators_own();
    for (uint32_t i = 1; differs && !rank && i < ranks; i++)
        if (differs[i])
            answer(i);
    if (differs && differs[rank])
        add_row(ask());
}

void mpi_clocks_begin(void)
{
    mpi_word made = 0;
    if (mpi_binding.Comm_dup(mpi_binding.abi.world, (mpi_word)&made) != 0)
        return;
    own = mpi_abi_handle(&made, 0);
    is_open = true;
    compare_identities();
    measure();
    if (!differs || !differs[mpi_communicators_own()]) {
        uint64_t now = clock_monotonic_ns();
        add_row((struct mpi_clock_row){.local_ns = now, .reference_ns = (int64_t)now});
    }
}

void mpi_clocks_end(void)
{
    mpi_word handle = own;
    if (!is_open)
        return;
    is_open = false;
    measure();
    mpi_binding.Comm_free((mpi_word)&handle);
}
