#include "collect/recorder/mpi_drain.h"

#include <stdlib.h>
#include <string.h>

#include "collect/agent/mpi_area.h"
#include "collect/agent/own_memory.h"
#include "collect/recorder/heap_paths.h"
#include "collect/recorder/loss_notes.h"
#include "collect/recorder/true_rank.h"
#include "store/mpi_calls.h"
#include "store/writer.h"
#include "store/writer_mpi.h"

#define TOTALS_NS     1000000000u /* between two looks at the totals */
#define ADVANCE_LOOKS 2

/* A call that lasts: what the file has of it before its end. */
struct advance {
    uint64_t start_ticks; /* 0 = none */
    uint64_t told_ticks;
    uint32_t node;
    uint8_t call;
    uint8_t looks; /* at the totals since its end */
};

struct mpi_drain {
    struct mpi_area *area;
    struct writer *writer;
    uint32_t process;
    struct heap_paths paths;
    uint32_t communicators[MPI_AREA_COMMUNICATORS]; /* the file's ids by row; 0 = not yet */
    uint32_t clocks;                                /* written so far */
    struct mpi_total
        *written; /* by row: what the file has. From the kernel, since most of it is never touched */
    uint64_t next_totals_ns;
    struct advance advances[MPI_AREA_RINGS];
    bool rank_told;
    uint64_t senseless;
};

struct mpi_drain *mpi_drain_new(struct mpi_area *area, uint64_t bytes, struct writer *writer,
                                uint32_t process)
{
    struct heap_area_view stacks;
    struct mpi_drain *drain = mpi_area_look(&stacks, area, bytes) ? calloc(1, sizeof *drain) : NULL;
    if (!drain)
        return NULL;
    drain->area = area;
    drain->writer = writer;
    drain->process = process;
    drain->written = own_memory_map(MPI_AREA_TOTALS * sizeof *drain->written);
    bool made = heap_paths_init(&drain->paths, &stacks, WRITER_MPI, writer, process) && drain->written;
    drain->paths.by_function = area->by_function;
    if (made)
        return drain;
    mpi_drain_free(drain);
    return NULL;
}

void mpi_drain_free(struct mpi_drain *drain)
{
    if (!drain)
        return;
    heap_paths_clear(&drain->paths);
    if (drain->written)
        own_memory_unmap(drain->written, MPI_AREA_TOTALS * sizeof *drain->written);
    free(drain);
}

/* ---- definitions ---- */

static void tell_rank(struct mpi_drain *drain)
{
    if (drain->rank_told || !__atomic_load_n(&drain->area->is_rank, __ATOMIC_ACQUIRE))
        return;
    drain->rank_told = true;
    true_rank_tell(drain->writer, drain->area->rank, drain->area->size);
}

/* The file's communicator; 0 when the row makes no sense. What it is called later does not count. */
static uint32_t communicator_of(struct mpi_drain *drain, uint32_t row)
{
    if (row == 0 || row >= MPI_AREA_COMMUNICATORS ||
        row >= __atomic_load_n(&drain->area->communicator_count, __ATOMIC_ACQUIRE) ||
        !drain->area->communicators[row].key)
        return 0;
    if (!drain->communicators[row]) {
        const struct mpi_communicator_row *from = &drain->area->communicators[row];
        const struct communicator made = {
            .key = from->key,
            .process = drain->process,
            .size = from->size,
            .rank = from->rank,
            .name = writer_string(drain->writer, from->name, strnlen(from->name, sizeof from->name))};
        drain->communicators[row] = writer_mpi_communicator(drain->writer, &made);
    }
    return drain->communicators[row];
}

static void write_communicators(struct mpi_drain *drain)
{
    uint32_t count = __atomic_load_n(&drain->area->communicator_count, __ATOMIC_ACQUIRE);
    for (uint32_t row = 1; row < count && row < MPI_AREA_COMMUNICATORS; row++)
        communicator_of(drain, row);
}

static void write_clocks(struct mpi_drain *drain)
{
    uint32_t count = __atomic_load_n(&drain->area->clock_count, __ATOMIC_ACQUIRE);
    for (; drain->clocks < count && drain->clocks < MPI_AREA_CLOCKS; drain->clocks++) {
        const struct mpi_clock_row *from = &drain->area->clocks[drain->clocks];
        const struct clock_row row = {.local_ns = from->local_ns,
                                      .reference_ns = from->reference_ns,
                                      .error_ns = from->error_ns,
                                      .process = drain->process};
        writer_mpi_clock(drain->writer, &row);
    }
}

/* Where a stack is in the file. False when its rows make no sense. */
struct place {
    uint32_t thread, node;
};

static bool find_place(struct mpi_drain *drain, uint32_t row, struct place *place)
{
    place->node = heap_paths_node(&drain->paths, row);
    place->thread = place->node == HEAP_PATHS_NONE
                        ? 0
                        : heap_paths_thread(&drain->paths, drain->paths.view.nodes[row].thread);
    drain->senseless += !place->thread;
    return place->thread;
}

static uint64_t more(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

/* ---- calls that last ---- */

/* A part of an open call. Its first part counts as the call. */
static void write_part(struct mpi_drain *drain, struct advance *advance, uint64_t until_ticks)
{
    struct place place;
    uint64_t ticks = until_ticks - advance->start_ticks;
    if (!find_place(drain, advance->node, &place))
        return;
    const struct mpi_total_row row = {.count = advance->told_ticks == 0,
                                      .total_ns = clock_span_ns(&drain->paths.rate, ticks) -
                                                  clock_span_ns(&drain->paths.rate, advance->told_ticks),
                                      .thread = place.thread,
                                      .node = place.node,
                                      .peer = MPI_NOBODY,
                                      .call = advance->call};
    writer_mpi_total(drain->writer, &row);
    advance->told_ticks = ticks;
}

/* What has ended is in the totals soon, where take_off finds it; not while the program has paused. */
static void see_open(struct mpi_drain *drain, uint32_t number, uint64_t now_ticks, uint64_t step_ticks)
{
    const struct mpi_ring *ring = &drain->area->rings[number];
    struct advance *advance = &drain->advances[number];
    uint64_t start_ticks = __atomic_load_n(&ring->open_ticks, __ATOMIC_ACQUIRE);
    if (advance->start_ticks && advance->start_ticks != start_ticks) {
        if (advance->looks++ == ADVANCE_LOOKS)
            *advance = (struct advance){0};
        return;
    }
    if (!start_ticks || start_ticks > now_ticks || ring->open_call >= MPI_CALL_COUNT)
        return;
    uint64_t next_ticks = advance->told_ticks + (step_ticks ? step_ticks + advance->told_ticks / 8 : 0);
    if (now_ticks - start_ticks <= next_ticks)
        return;
    if (!advance->start_ticks)
        *advance = (struct advance){
            .start_ticks = start_ticks, .node = ring->open_node, .call = (uint8_t)ring->open_call};
    write_part(drain, advance, now_ticks);
}

/* Calls that last, as in a rank that hangs, and (`step_ticks` 0: all of it) that in which a process has ended. */
static void see_all_open(struct mpi_drain *drain, uint64_t now_ticks, uint64_t step_ticks)
{
    uint32_t rings = drain->area->ring_count;
    for (uint32_t i = 0; i < rings && i < MPI_AREA_RINGS; i++)
        see_open(drain, i, now_ticks, step_ticks);
}

/* Of a call that has ended the file has a part already. A node is one thread's, which is in one call at a time. */
static void take_off(struct mpi_drain *drain, const struct mpi_total *now, const struct mpi_total *before,
                     struct mpi_total_row *row)
{
    for (uint32_t i = 0; i < MPI_AREA_RINGS; i++) {
        struct advance *advance = &drain->advances[i];
        if (!advance->told_ticks || advance->node != now->node || advance->call != now->call || !row->count ||
            more(now->ticks, before->ticks) < advance->told_ticks)
            continue;
        row->count--;
        row->total_ns = more(row->total_ns, clock_span_ns(&drain->paths.rate, advance->told_ticks));
        *advance = (struct advance){0};
    }
}

/* ---- totals ---- */

static void write_total(struct mpi_drain *drain, uint32_t number)
{
    struct mpi_total now = drain->area->totals[number], *before = &drain->written[number];
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    struct place place;
    if (!now.node || memcmp(&now, before, sizeof now) == 0 || !find_place(drain, now.node, &place))
        return;
    uint64_t ns = clock_span_ns(&drain->paths.rate, now.ticks);
    struct mpi_total_row row = {.count = more(now.count, before->count),
                                .sent_bytes = more(now.sent_bytes, before->sent_bytes),
                                .received_bytes = more(now.received_bytes, before->received_bytes),
                                .total_ns = more(ns, clock_span_ns(&drain->paths.rate, before->ticks)),
                                .thread = place.thread,
                                .node = place.node,
                                .communicator = communicator_of(drain, now.communicator),
                                .peer = now.peer,
                                .call = now.call < MPI_CALL_COUNT ? (uint8_t)now.call : 0};
    take_off(drain, &now, before, &row);
    writer_mpi_total(drain->writer, &row);
    *before = now;
}

static void write_totals(struct mpi_drain *drain)
{
    uint32_t count = __atomic_load_n(&drain->area->total_count, __ATOMIC_ACQUIRE);
    for (uint32_t i = 1; i < count && i < MPI_AREA_TOTALS; i++)
        write_total(drain, i);
}

/* ---- single messages and collectives ---- */

static void write_message(struct mpi_drain *drain, const struct mpi_event *event, struct place place)
{
    const struct clock_rate *rate = &drain->paths.rate;
    const struct message_row row = {.time_ns = clock_to_ns(rate, event->start_ticks),
                                    .duration_ns = clock_span_ns(rate, event->end_ticks - event->start_ticks),
                                    .posted_ns = clock_to_ns(rate, event->posted_ticks),
                                    .size_bytes = event->sent_bytes + event->received_bytes,
                                    .thread = place.thread,
                                    .node = place.node,
                                    .communicator = communicator_of(drain, event->communicator),
                                    .peer = event->peer,
                                    .tag = (int32_t)event->number,
                                    .call = event->call,
                                    .received = event->kind == MPI_EVENT_RECEIVED};
    writer_mpi_message(drain->writer, &row);
}

static void write_collective(struct mpi_drain *drain, const struct mpi_event *event, struct place place)
{
    const struct clock_rate *rate = &drain->paths.rate;
    const struct collective_row row = {.time_ns = clock_to_ns(rate, event->start_ticks),
                                       .duration_ns =
                                           clock_span_ns(rate, event->end_ticks - event->start_ticks),
                                       .posted_ns = clock_to_ns(rate, event->posted_ticks),
                                       .number = event->number,
                                       .sent_bytes = event->sent_bytes,
                                       .received_bytes = event->received_bytes,
                                       .thread = place.thread,
                                       .node = place.node,
                                       .communicator = communicator_of(drain, event->communicator),
                                       .root = event->peer,
                                       .call = event->call};
    writer_mpi_collective(drain->writer, &row);
}

static void write_event(struct mpi_drain *drain, const struct mpi_event *event)
{
    struct place place;
    bool is_sound = event->end_ticks >= event->start_ticks && event->posted_ticks <= event->end_ticks &&
                    event->call < MPI_CALL_COUNT && event->kind >= MPI_EVENT_SENT &&
                    event->kind <= MPI_EVENT_COLLECTIVE;
    drain->senseless += !is_sound;
    if (!is_sound || !find_place(drain, event->node, &place))
        return;
    if (event->kind == MPI_EVENT_COLLECTIVE)
        write_collective(drain, event, place);
    else
        write_message(drain, event, place);
}

/* True when it was rather full. */
static bool empty_ring(struct mpi_drain *drain, struct mpi_ring *ring)
{
    uint64_t written = __atomic_load_n(&ring->written, __ATOMIC_ACQUIRE), taken = ring->taken;
    uint64_t waiting = written - taken;
    if (waiting > MPI_AREA_RING_EVENTS) { /* overwritten by the program */
        drain->senseless++;
        waiting = 0;
        taken = written;
    }
    for (uint64_t i = 0; i < waiting; i++) {
        struct mpi_event event = ring->events[(taken + i) % MPI_AREA_RING_EVENTS];
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        write_event(drain, &event);
    }
    __atomic_store_n(&ring->taken, taken + waiting, __ATOMIC_RELEASE);
    return waiting > MPI_AREA_RING_EVENTS / 4;
}

static bool empty_rings(struct mpi_drain *drain)
{
    bool full = false;
    uint32_t rings = drain->area->ring_count;
    for (uint32_t i = 0; i < rings && i < MPI_AREA_RINGS; i++)
        full |= empty_ring(drain, &drain->area->rings[i]);
    return full;
}

/* ---- the whole ---- */

static uint64_t ticks_of(const struct clock_rate *rate, uint64_t ns)
{
    return rate->ns_per_tick > 0 ? (uint64_t)((double)ns / rate->ns_per_tick) : ns;
}

bool mpi_drain_step(struct mpi_drain *drain, const struct clock_rate *rate)
{
    uint64_t now_ns = clock_monotonic_ns();
    heap_paths_refresh(&drain->paths, rate);
    tell_rank(drain);
    write_communicators(drain);
    write_clocks(drain);
    bool full = empty_rings(drain);
    if (now_ns >= drain->next_totals_ns) {
        write_totals(drain);
        see_all_open(drain, heap_area_now(drain->paths.view.area), ticks_of(rate, TOTALS_NS));
        drain->next_totals_ns = now_ns + TOTALS_NS;
    }
    return full;
}

static void note(struct mpi_drain *drain, uint64_t count, const char *text)
{
    loss_notes_put(drain->writer, drain->process, NOTE_LOSS, count, text);
}

void mpi_drain_finish(struct mpi_drain *drain, const struct clock_rate *rate, uint64_t end_ticks)
{
    const struct mpi_area *area = drain->area;
    drain->next_totals_ns = UINT64_MAX; /* until the end, not until now */
    mpi_drain_step(drain, rate);
    write_totals(drain);
    see_all_open(drain, end_ticks, 0);
    heap_paths_end_threads(&drain->paths, end_ticks);
    note(drain, area->lost_events,
         "single MPI messages and collectives left out because the recorder was too slow; the totals have "
         "them");
    note(drain, area->lost_totals, "MPI calls charged to no stack because there were too many");
    note(drain, area->lost_requests, "MPI requests not followed because too many were open");
    note(drain, area->lost_communicators, "MPI communicators without a row because there were too many");
    note(drain, drain->senseless, "MPI rows passed over because the program overwrote them");
}
