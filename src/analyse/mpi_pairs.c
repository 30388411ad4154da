#include "analyse/mpi_pairs.h"

#include <stdbool.h>
#include <stdlib.h>

#include "analyse/mpi_groups.h"
#include "base/err.h"
#include "base/sort.h"
#include "store/recording.h"

#define COMPARE(left, right, field)                                                                          \
    do {                                                                                                     \
        if ((left)->field != (right)->field)                                                                 \
            return (left)->field < (right)->field ? -1 : 1;                                                  \
    } while (0)

/* What a message goes by. */
struct end {
    uint64_t communicator;
    uint32_t from, to;
    int32_t tag;
    uint32_t message;
    uint64_t posted_ns;
};

void mpi_pairs_clear(struct mpi_pairs *pairs)
{
    free(pairs->rows);
    *pairs = (struct mpi_pairs){0};
}

static int compare_ways(const struct end *left, const struct end *right)
{
    COMPARE(left, right, communicator);
    COMPARE(left, right, from);
    COMPARE(left, right, to);
    COMPARE(left, right, tag);
    return 0;
}

/* Times of one rank only are compared: those of two need not agree. */
static int compare_ends(const void *a, const void *b, void *context)
{
    (void)context;
    const struct end *left = a, *right = b;
    int order = compare_ways(left, right);
    if (order != 0)
        return order;
    COMPARE(left, right, posted_ns);
    return 0;
}

static struct end end_of(const struct recording *recording, uint32_t message)
{
    const struct message_row *row = &recording->messages[message];
    uint32_t own = mpi_groups_rank(recording, row->thread);
    return (struct end){.communicator = recording->communicators[row->communicator].key,
                        .from = row->received ? row->peer : own,
                        .to = row->received ? own : row->peer,
                        .tag = row->tag,
                        .message = message,
                        .posted_ns = row->posted_ns};
}

static uint32_t put_ends(const struct recording *recording, bool received, struct end *ends)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < recording->messages_count; i++) {
        const struct message_row *row = &recording->messages[i];
        if (row->received == received && row->peer != MPI_NOBODY)
            ends[count++] = end_of(recording, i);
    }
    return count;
}

/* Both lists are sorted. */
static void join(struct mpi_pairs *pairs, const struct end *sent, uint32_t sent_count,
                 const struct end *received, uint32_t received_count)
{
    uint32_t i = 0, j = 0;
    while (i < sent_count && j < received_count) {
        int order = compare_ways(&sent[i], &received[j]);
        if (order == 0)
            pairs->rows[pairs->count++] = (struct mpi_pair){sent[i].message, received[j].message};
        i += order <= 0;
        j += order >= 0;
    }
    pairs->alone = sent_count + received_count - 2 * pairs->count;
}

static int build(const struct recording *recording, struct end *ends, struct mpi_pairs *pairs,
                 struct err *err)
{
    uint32_t sent = put_ends(recording, false, ends);
    uint32_t received = put_ends(recording, true, ends + sent);
    if (sort_rows(ends, sent, sizeof *ends, compare_ends, NULL, err) < 0 ||
        sort_rows(ends + sent, received, sizeof *ends, compare_ends, NULL, err) < 0)
        return -1;
    join(pairs, ends, sent, ends + sent, received);
    return 0;
}

int mpi_pairs_build(const struct recording *recording, struct mpi_pairs *pairs, struct err *err)
{
    struct end *ends = malloc(((size_t)recording->messages_count + 1) * sizeof *ends);
    *pairs =
        (struct mpi_pairs){.rows = malloc(((size_t)recording->messages_count / 2 + 1) * sizeof *pairs->rows)};
    int result = ends && pairs->rows
                     ? build(recording, ends, pairs, err)
                     : err_set(err, "out of memory while matching %u messages", recording->messages_count);
    free(ends);
    if (result != 0)
        mpi_pairs_clear(pairs);
    return result;
}
