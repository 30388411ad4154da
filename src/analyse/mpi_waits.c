#include "analyse/mpi_waits.h"

#include <stdbool.h>
#include <stdlib.h>

#include "analyse/mpi_groups.h"
#include "analyse/mpi_pairs.h"
#include "analyse/rank_clocks.h"
#include "base/err.h"
#include "base/map.h"
#include "base/sort.h"
#include "store/mpi_calls.h"
#include "store/recording.h"

#define COMPARE(left, right, field)                                                                          \
    do {                                                                                                     \
        if ((left)->field != (right)->field)                                                                 \
            return (left)->field < (right)->field ? -1 : 1;                                                  \
    } while (0)

const char *mpi_waits_kind_name(enum mpi_wait_kind kind)
{
    static const char *const names[MPI_WAIT_KINDS] = {"late sender", "late receiver", "wait for all",
                                                      "late root",   "early root",    "wait for those below"};
    return names[kind];
}

void mpi_waits_clear(struct mpi_waits *waits)
{
    free(waits->rows);
    free(waits->late);
    *waits = (struct mpi_waits){0};
}

/* ---- one side of what ranks do together ---- */

/* Times are on the run's clock. */
struct side {
    int64_t posted_ns; /* from then on the others need not wait for it */
    int64_t begin_ns, end_ns;
    uint64_t error_ns;
    uint32_t rank, node;
    uint8_t call;
};

struct finder {
    const struct recording *recording;
    const struct rank_clocks *clocks;
    struct mpi_waits *waits;
    uint32_t capacity, late_capacity;
    struct map late; /* (rank, call) → row */
    bool failed;
};

static struct side side_of(const struct finder *finder, uint32_t thread, uint64_t posted_ns, uint64_t time_ns,
                           uint64_t duration_ns)
{
    uint32_t process = mpi_groups_process(finder->recording, thread);
    const struct rank_clocks *clocks = finder->clocks;
    return (struct side){.posted_ns = rank_clocks_time(clocks, process, posted_ns),
                         .begin_ns = rank_clocks_time(clocks, process, time_ns),
                         .end_ns = rank_clocks_time(clocks, process, time_ns + duration_ns),
                         .error_ns = clocks->rows[process].error_ns,
                         .rank = finder->recording->processes[process].rank};
}

static struct side message_side(const struct finder *finder, uint32_t message)
{
    const struct message_row *row = &finder->recording->messages[message];
    struct side side = side_of(finder, row->thread, row->posted_ns, row->time_ns, row->duration_ns);
    side.node = row->node;
    side.call = row->call;
    return side;
}

static struct side collective_side(const struct finder *finder, uint32_t collective)
{
    const struct collective_row *row = &finder->recording->collectives[collective];
    struct side side = side_of(finder, row->thread, row->posted_ns, row->time_ns, row->duration_ns);
    side.node = row->node;
    side.call = row->call;
    return side;
}

static bool is_known(const struct side *side)
{
    return side->error_ns != RANK_CLOCKS_UNKNOWN;
}

/* How long the one waited for the other: from its begin until that came, within its own call; 0 when the clocks cannot tell. */
static uint64_t waited(const struct side *waiter, const struct side *culprit)
{
    if (!is_known(waiter) || !is_known(culprit))
        return 0;
    int64_t until_ns = culprit->posted_ns < waiter->end_ns ? culprit->posted_ns : waiter->end_ns;
    uint64_t wait_ns = until_ns > waiter->begin_ns ? (uint64_t)(until_ns - waiter->begin_ns) : 0;
    return wait_ns > waiter->error_ns + culprit->error_ns ? wait_ns : 0;
}

static void add(struct finder *finder, enum mpi_wait_kind kind, const struct side *waiter,
                const struct side *culprit, uint64_t wait_ns)
{
    struct mpi_waits *waits = finder->waits;
    if (waits->count == finder->capacity) {
        uint32_t larger = finder->capacity ? finder->capacity * 2 : 1024;
        struct mpi_wait_row *rows = realloc(waits->rows, larger * sizeof *rows);
        if (!rows) {
            finder->failed = true;
            return;
        }
        waits->rows = rows;
        finder->capacity = larger;
    }
    waits->rows[waits->count++] = (struct mpi_wait_row){.wait_ns = wait_ns,
                                                        .longest_ns = wait_ns,
                                                        .count = 1,
                                                        .rank = waiter->rank,
                                                        .culprit = culprit->rank,
                                                        .node = waiter->node,
                                                        .culprit_node = culprit->node,
                                                        .call = waiter->call,
                                                        .kind = (uint8_t)kind};
    waits->total_ns += wait_ns;
}

/* ---- messages ---- */

/* A message cannot arrive before it was sent: where it seems to have, the clocks are at least so wrong. */
static void check_clocks(struct mpi_waits *waits, const struct side *sent, const struct side *received)
{
    if (!is_known(sent) || !is_known(received) || sent->posted_ns <= received->end_ns)
        return;
    uint64_t early_ns = (uint64_t)(sent->posted_ns - received->end_ns);
    waits->violation_ns = early_ns > waits->violation_ns ? early_ns : waits->violation_ns;
}

/* What a message had to wait, and for which one. */
struct delay {
    uint64_t wait_ns;
    uint32_t other;
};

static void find_in_pair(struct finder *finder, const struct mpi_pair *pair, struct delay *delays)
{
    struct side sent = message_side(finder, pair->sent), received = message_side(finder, pair->received);
    check_clocks(finder->waits, &sent, &received);
    delays[pair->received] = (struct delay){waited(&received, &sent), pair->sent};
    /* a send that was over before anybody wanted it has waited for nobody */
    if (sent.end_ns >= received.posted_ns)
        delays[pair->sent] = (struct delay){waited(&sent, &received), pair->received};
}

static bool is_same_call(const struct message_row *a, const struct message_row *b)
{
    return a->thread == b->thread && a->time_ns == b->time_ns && a->duration_ns == b->duration_ns;
}

/* A call that waits for several messages has waited as long as for the last of them, not for their sum. */
static void add_delays(struct finder *finder, const struct delay *delays)
{
    const struct recording *recording = finder->recording;
    const struct message_row *rows = recording->messages;
    for (uint32_t i = 0, end; i < recording->messages_count && !finder->failed; i = end) {
        uint32_t longest = i;
        for (end = i + 1; end < recording->messages_count && is_same_call(&rows[i], &rows[end]); end++)
            if (delays[end].wait_ns > delays[longest].wait_ns)
                longest = end;
        if (delays[longest].wait_ns == 0)
            continue;
        struct side waiter = message_side(finder, longest),
                    culprit = message_side(finder, delays[longest].other);
        add(finder, rows[longest].received ? MPI_WAIT_SENDER : MPI_WAIT_RECEIVER, &waiter, &culprit,
            delays[longest].wait_ns);
    }
}

static int find_in_messages(struct finder *finder, struct err *err)
{
    struct mpi_pairs pairs;
    if (mpi_pairs_build(finder->recording, &pairs, err) < 0)
        return -1;
    finder->waits->unmatched = pairs.alone;
    struct delay *delays = calloc((size_t)finder->recording->messages_count + 1, sizeof *delays);
    finder->failed |= !delays;
    for (uint32_t i = 0; i < pairs.count && delays; i++)
        find_in_pair(finder, &pairs.rows[i], delays);
    if (delays)
        add_delays(finder, delays);
    free(delays);
    mpi_pairs_clear(&pairs);
    return 0;
}

/* ---- collectives ---- */

static struct mpi_late_row *late_row(struct finder *finder, uint32_t rank, uint8_t call)
{
    struct mpi_waits *waits = finder->waits;
    uint32_t known = map_get(&finder->late, map_pair(rank, call));
    if (known != MAP_NONE)
        return &waits->late[known];
    if (waits->late_count == finder->late_capacity) {
        uint32_t larger = finder->late_capacity ? finder->late_capacity * 2 : 64;
        struct mpi_late_row *rows = realloc(waits->late, larger * sizeof *rows);
        finder->failed |= !rows;
        if (!rows)
            return NULL;
        waits->late = rows;
        finder->late_capacity = larger;
    }
    if (!map_set(&finder->late, map_pair(rank, call), waits->late_count)) {
        finder->failed = true;
        return NULL;
    }
    waits->late[waits->late_count] = (struct mpi_late_row){.rank = rank, .call = call};
    return &waits->late[waits->late_count++];
}

/* Those who waited for `culprit`, of the members from `begin` on. Returns what they waited together. */
static uint64_t find_waiters(struct finder *finder, enum mpi_wait_kind kind, const uint32_t *rows,
                             uint32_t count, const struct side *culprit)
{
    uint64_t caused_ns = 0;
    for (uint32_t i = 0; i < count && !finder->failed; i++) {
        struct side waiter = collective_side(finder, rows[i]);
        uint64_t wait_ns = waited(&waiter, culprit);
        if (!wait_ns || waiter.rank == culprit->rank)
            continue;
        add(finder, kind, &waiter, culprit, wait_ns);
        caused_ns += wait_ns;
    }
    return caused_ns;
}

static bool find_last(const struct finder *finder, const uint32_t *rows, uint32_t count, struct side *last)
{
    bool found = false;
    for (uint32_t i = 0; i < count; i++) {
        struct side side = collective_side(finder, rows[i]);
        if (is_known(&side) && (!found || side.posted_ns > last->posted_ns)) {
            *last = side;
            found = true;
        }
    }
    return found;
}

static bool find_root(const struct finder *finder, const uint32_t *rows, uint32_t count, uint32_t *at)
{
    uint32_t root = finder->recording->collectives[rows[0]].root;
    for (*at = 0; *at < count; ++*at)
        if (mpi_groups_rank(finder->recording, finder->recording->collectives[rows[*at]].thread) == root)
            return true;
    return false;
}

/* A scan: each member waits for the last of those below it. */
static void find_below(struct finder *finder, const uint32_t *rows, uint32_t count)
{
    struct side last = collective_side(finder, rows[0]);
    for (uint32_t i = 1; i < count && !finder->failed; i++) {
        find_waiters(finder, MPI_WAIT_BELOW, &rows[i], 1, &last);
        struct side side = collective_side(finder, rows[i]);
        if (side.posted_ns > last.posted_ns)
            last = side;
    }
}

static void count_parts(struct finder *finder, const uint32_t *rows, uint32_t count,
                        const struct side *culprit, uint64_t caused_ns)
{
    for (uint32_t i = 0; i < count && !finder->failed; i++) {
        const struct collective_row *row = &finder->recording->collectives[rows[i]];
        uint32_t rank = mpi_groups_rank(finder->recording, row->thread);
        struct mpi_late_row *late = late_row(finder, rank, row->call);
        if (!late)
            return;
        late->took_part++;
        if (caused_ns && rank == culprit->rank) {
            late->was_last++;
            late->caused_ns += caused_ns;
        }
    }
}

static void find_in_group(struct finder *finder, const uint32_t *rows, uint32_t count)
{
    const struct collective_row *first = &finder->recording->collectives[rows[0]];
    finder->waits->incomplete += count < finder->recording->communicators[first->communicator].size;
    struct side culprit = {.error_ns = RANK_CLOCKS_UNKNOWN, .rank = MPI_NOBODY};
    uint64_t caused_ns = 0;
    uint32_t root = 0;
    switch (mpi_call_shape(first->call)) {
    case MPI_SHAPE_ALL_WITH_ALL:
        if (find_last(finder, rows, count, &culprit))
            caused_ns = find_waiters(finder, MPI_WAIT_ALL, rows, count, &culprit);
        break;
    case MPI_SHAPE_ONE_TO_ALL:
        if (find_root(finder, rows, count, &root)) {
            culprit = collective_side(finder, rows[root]);
            caused_ns = find_waiters(finder, MPI_WAIT_ROOT, rows, count, &culprit);
        }
        break;
    case MPI_SHAPE_ALL_TO_ONE:
        if (find_root(finder, rows, count, &root) && find_last(finder, rows, count, &culprit))
            caused_ns = find_waiters(finder, MPI_WAIT_MEMBERS, &rows[root], 1, &culprit);
        break;
    case MPI_SHAPE_PREFIX:
        find_below(finder, rows, count);
        break;
    default:
        break;
    }
    count_parts(finder, rows, count, &culprit, caused_ns);
}

static void find_in_collectives(struct finder *finder, const struct mpi_groups *groups)
{
    for (uint32_t group = 0; group < groups->count && !finder->failed; group++)
        find_in_group(finder, &groups->rows[groups->starts[group]],
                      groups->starts[group + 1] - groups->starts[group]);
}

/* ---- adding up ---- */

static int compare_places(const void *a, const void *b, void *context)
{
    (void)context;
    const struct mpi_wait_row *left = a, *right = b;
    COMPARE(left, right, kind);
    COMPARE(left, right, call);
    COMPARE(left, right, rank);
    COMPARE(left, right, culprit);
    COMPARE(left, right, node);
    COMPARE(left, right, culprit_node);
    return 0;
}

static int compare_lengths(const void *a, const void *b, void *context)
{
    const struct mpi_wait_row *left = a, *right = b;
    COMPARE(right, left, wait_ns);
    return compare_places(a, b, context);
}

static int compare_late(const void *a, const void *b, void *context)
{
    (void)context;
    const struct mpi_late_row *left = a, *right = b;
    COMPARE(right, left, caused_ns);
    COMPARE(left, right, rank);
    COMPARE(left, right, call);
    return 0;
}

static void fold(struct mpi_waits *waits)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < waits->count; i++) {
        struct mpi_wait_row *row = &waits->rows[i], *last = kept ? &waits->rows[kept - 1] : NULL;
        if (!last || compare_places(last, row, NULL) != 0) {
            waits->rows[kept++] = *row;
            continue;
        }
        last->count += row->count;
        last->wait_ns += row->wait_ns;
        last->longest_ns = row->longest_ns > last->longest_ns ? row->longest_ns : last->longest_ns;
    }
    waits->count = kept;
}

static int add_up(struct mpi_waits *waits, struct err *err)
{
    if (sort_rows(waits->rows, waits->count, sizeof *waits->rows, compare_places, NULL, err) < 0)
        return -1;
    fold(waits);
    if (sort_rows(waits->rows, waits->count, sizeof *waits->rows, compare_lengths, NULL, err) < 0)
        return -1;
    return sort_rows(waits->late, waits->late_count, sizeof *waits->late, compare_late, NULL, err);
}

static int find(struct finder *finder, const struct mpi_groups *groups, struct err *err)
{
    if (find_in_messages(finder, err) < 0)
        return -1;
    find_in_collectives(finder, groups);
    map_clear(&finder->late);
    if (finder->failed)
        return err_set(err, "out of memory while looking for waits");
    return add_up(finder->waits, err);
}

int mpi_waits_build(const struct recording *recording, struct mpi_waits *waits, struct err *err)
{
    *waits = (struct mpi_waits){0};
    struct mpi_groups groups;
    if (mpi_groups_build(recording, &groups, err) < 0)
        return -1;
    struct rank_clocks clocks;
    int result = rank_clocks_build(recording, &groups, &clocks, err);
    if (result == 0) {
        waits->error_ns = clocks.error_ns;
        waits->unknown_clocks = clocks.unknown;
        struct finder finder = {.recording = recording, .clocks = &clocks, .waits = waits};
        result = find(&finder, &groups, err);
        rank_clocks_clear(&clocks);
    }
    mpi_groups_clear(&groups);
    if (result != 0)
        mpi_waits_clear(waits);
    return result;
}
