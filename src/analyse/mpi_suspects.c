#include "analyse/mpi_suspects.h"

#include <stdlib.h>

#include "analyse/labels.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/map.h"
#include "base/quantity.h"
#include "store/mpi_calls.h"
#include "store/recording.h"

#define SHARE_MIN    0.01 /* of the time of all ranks; less is not worth a sentence */
#define MPI_MIN      0.1  /* so much of it in MPI is */
#define LATE_TIMES   2.0  /* a rank is late more often than chance has it from so many times on */
#define PYTHON_SHARE 0.1  /* of what is spent on communication */

bool mpi_suspects_has(const struct recording *recording)
{
    return recording->mpi_totals_count || recording->messages_count || recording->collectives_count;
}

void mpi_suspects_clear(struct mpi_suspects *suspects)
{
    mpi_times_clear(&suspects->times);
    mpi_waits_clear(&suspects->waits);
    *suspects = (struct mpi_suspects){0};
}

/* The processes that were started as ranks, not what they started. */
static uint64_t time_of_ranks(const struct recording *recording)
{
    uint64_t sum_ns = 0;
    for (uint32_t id = 1; id < recording->processes_count; id++) {
        const struct process *process = &recording->processes[id];
        if (process->rank != UINT32_MAX && !process->parent && process->end_ns > process->start_ns)
            sum_ns += process->end_ns - process->start_ns;
    }
    return sum_ns;
}

int mpi_suspects_init(struct mpi_suspects *suspects, const struct recording *recording, struct err *err)
{
    *suspects = (struct mpi_suspects){.recording = recording, .ranks_ns = time_of_ranks(recording)};
    if (mpi_times_build(recording, &suspects->times, err) < 0)
        return -1;
    if (mpi_waits_build(recording, &suspects->waits, err) < 0) {
        mpi_times_clear(&suspects->times);
        return -1;
    }
    return 0;
}

static double share(const struct mpi_suspects *suspects, uint64_t ns)
{
    return suspects->ranks_ns ? (double)ns / (double)suspects->ranks_ns : 0;
}

static void put_place(const struct mpi_suspects *suspects, uint32_t node, struct bytes *text, uint32_t *code)
{
    *code = suspects->recording->nodes[node].code;
    if (!*code)
        return;
    bytes_put_text(text, " in ");
    labels_place(suspects->recording, node, text);
}

/* Where the others stood when they waited for it at this call, most of the time. */
static uint32_t waiting_node(const struct mpi_suspects *suspects, uint32_t culprit, uint8_t call)
{
    const struct mpi_waits *waits = &suspects->waits;
    for (uint32_t i = 0; i < waits->count; i++)
        if (waits->rows[i].culprit == culprit && waits->rows[i].call == call)
            return waits->rows[i].node;
    return 0;
}

static double look_at_late_rank(const struct mpi_suspects *suspects, struct bytes *text, uint32_t *code)
{
    const struct mpi_waits *waits = &suspects->waits;
    const struct mpi_late_row *late = waits->late;
    if (!waits->late_count || !late->took_part || suspects->times.ranks_count < 2)
        return 0;
    double often = (double)late->was_last / (double)late->took_part;
    double chance = 1.0 / (double)suspects->times.ranks_count;
    double found = share(suspects, late->caused_ns);
    if (found < SHARE_MIN || (often < LATE_TIMES * chance && often < 0.999))
        return 0;
    bytes_putf(text, "Rank %u is late at %s of the %s calls", late->rank, quantity_share(often).text,
               mpi_call_name(late->call));
    put_place(suspects, waiting_node(suspects, late->rank, late->call), text, code);
    bytes_putf(text, " (%s of %s): the others wait %s for it, %s of the time of all ranks.",
               quantity_count(late->was_last).text, quantity_count(late->took_part).text,
               quantity_duration((double)late->caused_ns).text, quantity_share(found).text);
    return found;
}

/* What one rank made the others wait for with its messages, or with not taking theirs. */
struct delayed {
    uint64_t wait_ns;
    uint32_t culprit, node; /* node: where the longest of it was waited */
};

static bool add_delayed(struct map *places, struct delayed *sums, const struct mpi_wait_row *row)
{
    uint32_t place = map_get(places, row->culprit);
    if (place == MAP_NONE) {
        place = (uint32_t)places->count;
        if (!map_set(places, row->culprit, place))
            return false;
        sums[place] = (struct delayed){.culprit = row->culprit, .node = row->node};
    }
    sums[place].wait_ns += row->wait_ns;
    return true;
}

/* Nothing when there is no memory for it. */
static struct delayed worst_of(const struct mpi_waits *waits, enum mpi_wait_kind kind)
{
    struct delayed worst = {0}, *sums = malloc(((size_t)waits->count + 1) * sizeof *sums);
    struct map places = {0};
    for (uint32_t i = 0; i < waits->count && sums; i++)
        if (waits->rows[i].kind == kind && !add_delayed(&places, sums, &waits->rows[i]))
            break;
    for (size_t i = 0; i < places.count; i++)
        if (sums[i].wait_ns > worst.wait_ns)
            worst = sums[i];
    map_clear(&places);
    free(sums);
    return worst;
}

static double look_at_messages(const struct mpi_suspects *suspects, enum mpi_wait_kind kind,
                               const char *words, struct bytes *text, uint32_t *code)
{
    struct delayed worst = worst_of(&suspects->waits, kind);
    double found = share(suspects, worst.wait_ns);
    if (found < SHARE_MIN)
        return 0;
    bytes_putf(text, "Ranks wait %s for messages that rank %u %s, most of it",
               quantity_duration((double)worst.wait_ns).text, worst.culprit, words);
    put_place(suspects, worst.node, text, code);
    bytes_putf(text, ": %s of the time of all ranks.", quantity_share(found).text);
    return found;
}

static double look_at_senders(const struct mpi_suspects *suspects, struct bytes *text, uint32_t *code)
{
    return look_at_messages(suspects, MPI_WAIT_SENDER, "sends late", text, code);
}

static double look_at_receivers(const struct mpi_suspects *suspects, struct bytes *text, uint32_t *code)
{
    return look_at_messages(suspects, MPI_WAIT_RECEIVER, "takes late", text, code);
}

/* Starting and ending MPI cannot be helped. */
static bool is_exchange(uint8_t call)
{
    return mpi_call_shape(call) != MPI_SHAPE_PYTHON && call != MPI_CALL_INIT && call != MPI_CALL_FINALIZE;
}

static double look_at_mpi(const struct mpi_suspects *suspects, struct bytes *text, uint32_t *code)
{
    const struct mpi_times *times = &suspects->times;
    const struct mpi_time_row *most = NULL;
    uint64_t sum_ns = 0;
    for (uint32_t i = 0; i < times->stacks_count; i++) {
        if (!is_exchange(times->stacks[i].call))
            continue;
        most = most ? most : &times->stacks[i];
        sum_ns += times->stacks[i].total_ns;
    }
    double found = share(suspects, sum_ns);
    if (found < MPI_MIN || !most)
        return 0;
    bytes_putf(text, "%s of the time of all ranks is spent in MPI, most of it in %s",
               quantity_share(found).text, mpi_call_name(most->call));
    put_place(suspects, most->node, text, code);
    bytes_putf(text, " (%s in %s calls).", quantity_duration((double)most->total_ns).text,
               quantity_count(most->count).text);
    return found;
}

static double look_at_pickling(const struct mpi_suspects *suspects, struct bytes *text, uint32_t *code)
{
    const struct mpi_times *times = &suspects->times;
    double found = share(suspects, times->python_ns);
    if (found < SHARE_MIN ||
        (double)times->python_ns < PYTHON_SHARE * (double)(times->total_ns + times->python_ns))
        return 0;
    bytes_putf(text, "Pickling takes %s beside %s in MPI", quantity_duration((double)times->python_ns).text,
               quantity_duration((double)times->total_ns).text);
    for (uint32_t i = 0; i < times->stacks_count; i++)
        if (mpi_call_shape(times->stacks[i].call) == MPI_SHAPE_PYTHON) {
            bytes_put_text(text, ", most of it");
            put_place(suspects, times->stacks[i].node, text, code);
            break;
        }
    bytes_put_text(text, ": Send, Bcast and the other methods with a capital letter do not pickle arrays.");
    return found;
}

const struct mpi_suspect mpi_suspects_list[] = {
    {"late-rank", look_at_late_rank},     {"late-sender", look_at_senders},
    {"late-receiver", look_at_receivers}, {"mpi", look_at_mpi},
    {"pickling", look_at_pickling},       {NULL, NULL},
};
