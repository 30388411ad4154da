/* What a rank tells of its calls of MPI, as it comes into the file: once, in full, and not at all where it makes no sense. */
#include "collect/recorder/mpi_drain.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/err.h"
#include "collect/agent/mpi_area.h"
#include "store/mpi_calls.h"
#include "store/reader.h"
#include "store/writer.h"

static const struct clock_rate rate = {.ns_per_tick = 2.0};

struct made {
    struct mpi_area *area;
    struct bytes bytes;
    struct writer *writer;
    struct mpi_drain *drain;
};

/* One thread, whose root is node 1, and one communicator. */
static void make(struct made *made)
{
    struct err err = {{0}};
    *made = (struct made){.area = mmap(NULL, mpi_area_bytes(), PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)};
    assert_ptr_not_equal(made->area, MAP_FAILED);
    mpi_area_format(made->area, 1, 0);
    struct heap_area *stacks = mpi_area_stacks(made->area);
    stacks->thread_count = stacks->node_count = 2;
    stacks->threads[1].tid = 7;
    heap_area_nodes(stacks)[1] = (struct heap_node){.thread = 1};
    made->area->communicator_count = 2;
    made->area->communicators[1] =
        (struct mpi_communicator_row){.key = 99, .size = 4, .rank = 3, .name = "all"};
    made->area->ring_count = 1;
    const struct writer_options options = {.sink = writer_sink_bytes, .context = &made->bytes};
    made->writer = writer_new(&options, &err);
    uint32_t process = writer_process(made->writer, &(struct process){.pid = 1});
    made->drain = mpi_drain_new(made->area, mpi_area_bytes(), made->writer, process);
    assert_non_null(made->drain);
}

static void finish(struct made *made, struct recording *recording)
{
    struct err err = {{0}};
    mpi_drain_finish(made->drain, &rate, 1000);
    mpi_drain_free(made->drain);
    assert_int_equal(writer_close(made->writer, &err), 0);
    assert_int_equal(reader_read(made->bytes.data, made->bytes.size, "x", recording, &err), 0);
    bytes_clear(&made->bytes);
    munmap(made->area, mpi_area_bytes());
}

static void put(struct made *made, struct mpi_event event)
{
    struct mpi_ring *ring = &made->area->rings[0];
    ring->events[ring->written++ % MPI_AREA_RING_EVENTS] = event;
}

static struct mpi_event message(void)
{
    return (struct mpi_event){.start_ticks = 20,
                              .end_ticks = 30,
                              .posted_ticks = 10,
                              .received_bytes = 80,
                              .number = (uint64_t)-5,
                              .node = 1,
                              .communicator = 1,
                              .peer = 2,
                              .call = MPI_CALL_IRECV,
                              .kind = MPI_EVENT_RECEIVED};
}

static void test_rows(void **state)
{
    (void)state;
    struct made made;
    struct recording recording = {0};
    make(&made);
    put(&made, message());
    mpi_drain_step(made.drain, &rate);
    put(&made, (struct mpi_event){.start_ticks = 50,
                                  .end_ticks = 60,
                                  .posted_ticks = 50,
                                  .number = 6,
                                  .node = 1,
                                  .communicator = 1,
                                  .peer = 0,
                                  .call = MPI_CALL_BCAST,
                                  .kind = MPI_EVENT_COLLECTIVE});
    made.area->clocks[0] = (struct mpi_clock_row){.local_ns = 5, .reference_ns = -7, .error_ns = 2};
    made.area->clock_count = 1;
    finish(&made, &recording);
    assert_int_equal(recording.messages_count, 1);
    const struct message_row *row = recording.messages;
    assert_int_equal(row->time_ns, 40);
    assert_int_equal(row->duration_ns, 20);
    assert_int_equal(row->posted_ns, 20);
    assert_int_equal(row->size_bytes, 80);
    assert_int_equal(row->tag, -5);
    assert_int_equal(row->peer, 2);
    assert_int_equal(row->received, 1);
    assert_int_equal(recording.communicators[row->communicator].key, 99);
    assert_int_equal(recording.communicators[row->communicator].rank, 3);
    assert_int_equal(recording.collectives_count, 1);
    assert_int_equal(recording.collectives[0].number, 6);
    assert_int_equal(recording.clocks_count, 1);
    assert_int_equal(recording.clocks[0].reference_ns, -7);
    assert_int_equal(recording.threads[row->thread].tid, 7);
    recording_clear(&recording);
}

/* What was written is not written again, whenever it is looked at. */
static void test_totals_grow(void **state)
{
    (void)state;
    struct made made;
    struct recording recording = {0};
    make(&made);
    made.area->total_count = 2;
    made.area->totals[1] = (struct mpi_total){.node = 1,
                                              .communicator = 1,
                                              .peer = 2,
                                              .call = MPI_CALL_SEND,
                                              .count = 3,
                                              .ticks = 100,
                                              .sent_bytes = 30};
    mpi_drain_step(made.drain, &rate);
    made.area->totals[1].count = 5;
    made.area->totals[1].ticks = 160;
    made.area->totals[1].sent_bytes = 50;
    finish(&made, &recording);
    assert_int_equal(recording.mpi_totals_count, 1);
    assert_int_equal(recording.mpi_totals[0].count, 5);
    assert_int_equal(recording.mpi_totals[0].total_ns, 320);
    assert_int_equal(recording.mpi_totals[0].sent_bytes, 50);
    recording_clear(&recording);
}

static void test_overwritten(void **state)
{
    (void)state;
    struct made made;
    struct recording recording = {0};
    make(&made);
    struct mpi_event backwards = message(), nowhere = message(), no_call = message(), no_kind = message();
    backwards.end_ticks = 1;
    nowhere.node = 12345;
    no_call.call = 255;
    no_kind.kind = 9;
    put(&made, backwards);
    put(&made, nowhere);
    put(&made, no_call);
    put(&made, no_kind);
    made.area->ring_count = UINT32_MAX;
    made.area->rings[1].written = UINT64_MAX;
    made.area->total_count = UINT32_MAX;
    made.area->totals[MPI_AREA_TOTALS - 1] = (struct mpi_total){.node = UINT32_MAX, .call = 77};
    made.area->communicator_count = UINT32_MAX;
    made.area->clock_count = UINT32_MAX;
    memset(made.area->communicators[1].name, 'x', sizeof made.area->communicators[1].name);
    finish(&made, &recording);
    assert_int_equal(recording.messages_count, 0);
    assert_int_equal(recording.mpi_totals_count, 0);
    assert_true(recording.notes_count >= 1);
    assert_int_equal(recording.communicators_count, 2);
    assert_int_equal(recording.notes[recording.notes_count - 1].count, 6);
    recording_clear(&recording);
}

static void test_header(void **state)
{
    (void)state;
    struct made made;
    struct recording recording = {0};
    make(&made);
    assert_null(mpi_drain_new(made.area, mpi_area_bytes() - 1, made.writer, 1));
    made.area->magic++;
    assert_null(mpi_drain_new(made.area, mpi_area_bytes(), made.writer, 1));
    finish(&made, &recording);
    recording_clear(&recording);
}

/* Rows of totals added up. */
static struct mpi_total_row sum(const struct recording *recording)
{
    struct mpi_total_row sum = {0};
    for (uint32_t i = 0; i < recording->mpi_totals_count; i++) {
        assert_int_equal(recording->mpi_totals[i].call, MPI_CALL_BARRIER);
        sum.count += recording->mpi_totals[i].count;
        sum.total_ns += recording->mpi_totals[i].total_ns;
    }
    return sum;
}

static void open_call(struct made *made, uint64_t ticks)
{
    struct mpi_ring *ring = &made->area->rings[0];
    ring->open_call = MPI_CALL_BARRIER;
    ring->open_node = 1;
    ring->open_ticks = ticks;
}

/* The process is killed in it. */
static void test_ended_in_a_call(void **state)
{
    (void)state;
    struct made made;
    struct recording recording = {0};
    make(&made);
    open_call(&made, 400);
    finish(&made, &recording);
    assert_int_equal(sum(&recording).count, 1);
    assert_int_equal(sum(&recording).total_ns, 1200);
    recording_clear(&recording);
}

/* What is told of a call while it lasts is not told again at its end. */
static void test_a_call_that_lasts(void **state)
{
    (void)state;
    struct made made;
    struct recording recording = {0};
    const uint64_t lasts_ticks = 8000000000u;
    make(&made);
    open_call(&made, heap_area_now(mpi_area_stacks(made.area)) - lasts_ticks / 2);
    mpi_drain_step(made.drain, &rate);
    made.area->rings[0].open_ticks = 0;
    made.area->total_count = 2;
    made.area->totals[1] =
        (struct mpi_total){.node = 1, .call = MPI_CALL_BARRIER, .count = 1, .ticks = lasts_ticks};
    finish(&made, &recording);
    assert_int_equal(recording.mpi_totals_count, 2);
    assert_int_equal(sum(&recording).count, 1);
    assert_int_equal(sum(&recording).total_ns, 2 * lasts_ticks);
    recording_clear(&recording);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_totals_grow),
        cmocka_unit_test(test_ended_in_a_call),
        cmocka_unit_test(test_a_call_that_lasts),
        cmocka_unit_test(test_overwritten),
        cmocka_unit_test(test_header),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
