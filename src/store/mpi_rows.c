#include "store/mpi_rows.h"

#include "base/err.h"
#include "base/sort.h"
#include "store/recording.h"

#define COMPARE(left, right, field)                                                                          \
    do {                                                                                                     \
        if ((left)->field != (right)->field)                                                                 \
            return (left)->field < (right)->field ? -1 : 1;                                                  \
    } while (0)

static int compare_clocks(const void *a, const void *b, void *context)
{
    (void)context;
    const struct clock_row *left = a, *right = b;
    COMPARE(left, right, process);
    COMPARE(left, right, local_ns);
    return 0;
}

static int compare_messages(const void *a, const void *b, void *context)
{
    (void)context;
    const struct message_row *left = a, *right = b;
    COMPARE(left, right, thread);
    COMPARE(left, right, time_ns);
    return 0;
}

static int compare_collectives(const void *a, const void *b, void *context)
{
    (void)context;
    const struct collective_row *left = a, *right = b;
    COMPARE(left, right, thread);
    COMPARE(left, right, time_ns);
    return 0;
}

static int compare_totals(const void *a, const void *b, void *context)
{
    (void)context;
    const struct mpi_total_row *left = a, *right = b;
    COMPARE(left, right, thread);
    COMPARE(left, right, node);
    COMPARE(left, right, call);
    COMPARE(left, right, communicator);
    COMPARE(left, right, peer);
    return 0;
}

static void add_up_totals(struct recording *recording)
{
    struct mpi_total_row *rows = recording->mpi_totals;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < recording->mpi_totals_count; i++) {
        if (kept == 0 || compare_totals(&rows[kept - 1], &rows[i], NULL) != 0) {
            rows[kept++] = rows[i];
            continue;
        }
        rows[kept - 1].count += rows[i].count;
        rows[kept - 1].sent_bytes += rows[i].sent_bytes;
        rows[kept - 1].received_bytes += rows[i].received_bytes;
        rows[kept - 1].total_ns += rows[i].total_ns;
    }
    recording->mpi_totals_count = kept;
}

int mpi_rows_order(struct recording *recording, struct err *err)
{
    if (sort_rising(recording->clocks, recording->clocks_count, sizeof *recording->clocks, compare_clocks,
                    err) < 0 ||
        sort_rising(recording->messages, recording->messages_count, sizeof *recording->messages,
                    compare_messages, err) < 0 ||
        sort_rising(recording->collectives, recording->collectives_count, sizeof *recording->collectives,
                    compare_collectives, err) < 0 ||
        sort_rising(recording->mpi_totals, recording->mpi_totals_count, sizeof *recording->mpi_totals,
                    compare_totals, err) < 0)
        return -1;
    add_up_totals(recording);
    return 0;
}
