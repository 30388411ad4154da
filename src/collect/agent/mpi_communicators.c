#include "collect/agent/mpi_communicators.h"

#include <pthread.h>
#include <string.h>

#include "collect/agent/mpi_tracker.h"
#include "collect/agent/own_memory.h"

#define PLACES      8192
#define MEMBERSHIPS 4096
#define GROUPS      4096
#define FREED       1u /* in place of a handle */
#define CHUNK_BYTES (1u << 20)

static struct mpi_communicator table[PLACES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* How many communicators had the members of this hash. */
static struct {
    uint64_t hash, count;
} memberships[MEMBERSHIPS];

static mpi_word world_group;
static uint32_t own_rank;

uint32_t mpi_communicators_own(void)
{
    return own_rank;
}

uint32_t mpi_communicators_peer(const struct mpi_peers *peers, int rank)
{
    return rank >= 0 && (uint32_t)rank < peers->count ? peers->ranks[rank] : MPI_TRACKER_NOBODY;
}

/* ---- who is in it ---- */

/* Memory that is never given back. */
static void *keep(size_t bytes)
{
    static char *chunk;
    static size_t used = CHUNK_BYTES;
    bytes = (bytes + 7) & ~(size_t)7;
    if (bytes > CHUNK_BYTES / 4)
        return own_memory_map(bytes);
    if (used + bytes > CHUNK_BYTES) {
        chunk = own_memory_map(CHUNK_BYTES);
        used = 0;
    }
    used += bytes;
    return chunk ? chunk + used - bytes : NULL;
}

/* Fills `members` with the ranks of the job that are in a group; `ranks` is room of the same size. */
static void translate(mpi_word group, uint32_t *members, int *ranks, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        ranks[i] = (int)i;
    mpi_binding.Group_translate_ranks(group, count, (mpi_word)ranks, world_group, (mpi_word)members);
    for (uint32_t i = 0; i < count; i++)
        if ((int)members[i] < 0) /* one that another job has brought in */
            members[i] = MPI_TRACKER_NOBODY;
}

static uint64_t hash_members(const struct mpi_peers *members)
{
    uint64_t hash = 0xcbf29ce484222325u ^ members->count;
    for (uint32_t i = 0; i < members->count; i++) {
        hash = (hash ^ members->ranks[i]) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    return hash;
}

/* The same list for the same members: programs make and free communicators of one group for ever. Without any when there is
 * no room. */
static struct mpi_peers keep_members(const uint32_t *members, uint32_t count)
{
    static struct mpi_peers kept[GROUPS];
    const struct mpi_peers wanted = {members, count};
    size_t bytes = count * sizeof *members;
    uint64_t hash = hash_members(&wanted);
    for (uint32_t steps = 0; steps < GROUPS; steps++) {
        struct mpi_peers *found = &kept[(hash + steps) % GROUPS];
        if (found->count == count && memcmp(found->ranks, members, bytes) == 0)
            return *found;
        if (found->count)
            continue;
        uint32_t *copy = keep(bytes);
        if (!copy)
            break;
        memcpy(copy, members, bytes);
        return *found = (struct mpi_peers){copy, count};
    }
    return (struct mpi_peers){0};
}

static struct mpi_peers list_members(mpi_word group)
{
    int size = 0;
    mpi_binding.Group_size(group, (mpi_word)&size);
    uint32_t count = size > 0 ? (uint32_t)size : 0;
    size_t bytes = 2 * count * sizeof(uint32_t);
    uint32_t *room = count ? own_memory_map(bytes) : NULL;
    struct mpi_peers members = {0};
    if (!room)
        return members;
    translate(group, room, (int *)(room + count), count);
    members = keep_members(room, count);
    own_memory_unmap(room, bytes);
    return members;
}

/* The members that `ask` (Comm_group, Comm_remote_group) tells of. */
static struct mpi_peers ask_members(mpi_word handle, mpi_function *ask)
{
    mpi_word group = 0;
    if (ask(handle, (mpi_word)&group) != 0)
        return (struct mpi_peers){0};
    struct mpi_peers members = list_members(mpi_abi_handle(&group, 0));
    mpi_binding.Group_free((mpi_word)&group);
    return members;
}

static uint64_t count_membership(uint64_t hash)
{
    for (uint32_t steps = 0; steps < MEMBERSHIPS; steps++) {
        uint32_t at = (uint32_t)(hash + steps) % MEMBERSHIPS;
        if (memberships[at].count && memberships[at].hash != hash)
            continue;
        memberships[at].hash = hash;
        return memberships[at].count++;
    }
    return 0;
}

static uint64_t make_key(uint64_t members)
{
    uint64_t key = (members ^ count_membership(members) * 0xff51afd7ed558ccdu) * 0x9e3779b97f4a7c15u;
    return key ^ key >> 31 ? key ^ key >> 31 : 1;
}

/* ---- the table ---- */

static uint32_t place_of(mpi_word handle)
{
    return (uint32_t)((handle ^ handle >> 20) * 0x9e3779b97f4a7c15u >> 40) % PLACES;
}

static struct mpi_communicator *look_up(mpi_word handle)
{
    for (uint32_t at = place_of(handle), steps = 0; steps < PLACES; steps++, at = (at + 1) % PLACES) {
        mpi_word found = __atomic_load_n(&table[at].handle, __ATOMIC_ACQUIRE);
        if (found == handle)
            return &table[at];
        if (!found)
            return NULL;
    }
    return NULL;
}

static uint32_t add_row(const struct mpi_communicator *communicator, uint64_t key)
{
    struct mpi_area *area = mpi_tracker_area();
    uint32_t row = area->communicator_count;
    char name[256] = "";
    int length = 0;
    if (row >= MPI_AREA_COMMUNICATORS) {
        area->lost_communicators++;
        return 0;
    }
    struct mpi_communicator_row *made = &area->communicators[row];
    made->size = communicator->size;
    made->rank = communicator->rank;
    mpi_binding.Comm_get_name(communicator->handle, (mpi_word)name, (mpi_word)&length);
    memcpy(made->name, name, sizeof made->name - 1);
    made->key = key;
    __atomic_store_n(&area->communicator_count, row + 1, __ATOMIC_RELEASE);
    return row;
}

static void describe(struct mpi_communicator *made)
{
    int size = 0, rank = 0, is_inter = 0;
    mpi_binding.Comm_size(made->handle, (mpi_word)&size);
    mpi_binding.Comm_rank(made->handle, (mpi_word)&rank);
    mpi_binding.Comm_test_inter(made->handle, (mpi_word)&is_inter);
    made->size = (uint32_t)size;
    made->rank = (uint32_t)rank;
    made->is_inter = is_inter;
    made->peers = ask_members(made->handle, mpi_binding.Comm_group);
    uint64_t members = hash_members(&made->peers);
    if (made->is_inter) {
        made->peers = ask_members(made->handle, mpi_binding.Comm_remote_group);
        members += hash_members(&made->peers) + 1; /* the same seen from the other side */
    }
    made->row = add_row(made, make_key(members));
}

/* Under the lock. NULL when the table is full. */
static struct mpi_communicator *add(mpi_word handle)
{
    struct mpi_communicator made = {.handle = handle};
    describe(&made);
    for (uint32_t at = place_of(handle), steps = 0; steps < PLACES; steps++, at = (at + 1) % PLACES) {
        if (table[at].handle > FREED)
            continue;
        made.handle = table[at].handle; /* is shown last */
        table[at] = made;
        __atomic_store_n(&table[at].handle, handle, __ATOMIC_RELEASE);
        return &table[at];
    }
    return NULL;
}

struct mpi_communicator *mpi_communicators_find(mpi_word handle)
{
    struct mpi_communicator *found = look_up(handle);
    if (found || handle == mpi_binding.abi.no_communicator || handle <= FREED)
        return found;
    pthread_mutex_lock(&lock);
    found = look_up(handle);
    if (!found)
        found = add(handle);
    pthread_mutex_unlock(&lock);
    return found;
}

void mpi_communicators_forget(mpi_word handle)
{
    struct mpi_communicator *found = look_up(handle);
    if (found)
        __atomic_store_n(&found->handle, FREED, __ATOMIC_RELEASE);
}

void mpi_communicators_name(mpi_word handle, const char *name)
{
    const struct mpi_communicator *found = mpi_communicators_find(handle);
    if (found && found->row)
        strncpy(mpi_tracker_area()->communicators[found->row].name, name, MPI_AREA_NAME_BYTES - 1);
}

void mpi_communicators_begin(void)
{
    mpi_word group = 0;
    struct mpi_area *area = mpi_tracker_area();
    int rank = 0, size = 0;
    mpi_binding.Comm_group(mpi_binding.abi.world, (mpi_word)&group);
    world_group = mpi_abi_handle(&group, 0);
    mpi_binding.Comm_rank(mpi_binding.abi.world, (mpi_word)&rank);
    mpi_binding.Comm_size(mpi_binding.abi.world, (mpi_word)&size);
    own_rank = area->rank = (uint32_t)rank;
    area->size = (uint32_t)size;
    __atomic_store_n(&area->is_rank, 1, __ATOMIC_RELEASE);
    mpi_communicators_find(mpi_binding.abi.world);
    mpi_communicators_find(mpi_binding.abi.self);
}
