/* What a process has counted, as it comes into the file; and an area that the program has overwritten. */
#include "collect/recorder/heap_drain.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/err.h"
#include "collect/agent/heap_area.h"
#include "collect/agent/heap_blocks.h"
#include "store/reader.h"
#include "store/writer.h"

static const struct heap_area_limits limits = {.nodes = 512, .records = 512, .rings = 2};
static const struct clock_rate rate = {.ns_per_tick = 1.0};

struct made {
    struct heap_area *area;
    struct bytes bytes;
    struct writer *writer;
    struct heap_drain *drain;
};

static struct made make(void)
{
    struct made made = {0};
    made.area = mmap(NULL, heap_area_bytes(&limits), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(made.area, MAP_FAILED);
    heap_area_format(made.area, &limits, 1, 0x030c01f0);
    return made;
}

static void open_drain(struct made *made)
{
    struct err err = {{0}};
    const struct writer_options options = {.sink = writer_sink_bytes, .context = &made->bytes};
    made->writer = writer_new(&options, &err);
    uint32_t process = writer_process(made->writer, &(struct process){.pid = 1});
    made->drain = heap_drain_new(made->area, heap_area_bytes(&limits), made->writer, process);
    assert_non_null(made->drain);
}

static void finish(struct made *made, struct recording *recording)
{
    struct err err = {{0}};
    heap_drain_finish(made->drain, &rate, 1000);
    heap_drain_free(made->drain);
    assert_int_equal(writer_close(made->writer, &err), 0);
    assert_int_equal(reader_read(made->bytes.data, made->bytes.size, "x", recording, &err), 0);
}

static void clear(struct made *made, struct recording *recording)
{
    recording_clear(recording);
    bytes_clear(&made->bytes);
    munmap(made->area, heap_area_bytes(&limits));
}

/* Two records of one line, one of them changed since the peak. */
static void fill(struct heap_area *area)
{
    enum { UNIT = HEAP_AREA_COUNT_UNIT };
    struct heap_node *nodes = heap_area_nodes(area);
    struct heap_record *records = heap_area_records(area);
    area->threads[1] = (struct heap_thread_row){.tid = 1, .root = 1, .name = "MainThread", .ring = 1};
    area->threads[1].sizes[7] = (struct heap_size){.count = 12 * UNIT, .bytes = 1200};
    area->thread_count = 2;
    nodes[1] = (struct heap_node){.thread = 1};
    nodes[2] = (struct heap_node){.parent = 1, .thread = 1, .offset = 2};
    nodes[3] = (struct heap_node){.parent = 1, .thread = 1, .offset = 4};
    area->node_count = 4;
    area->epoch = 5;
    records[1] = (struct heap_record){.node = 2,
                                      .allocator = HEAP_MALLOC,
                                      .bytes = 1000,
                                      .count = 10 * UNIT,
                                      .freed_bytes = 300,
                                      .freed_count = 3 * UNIT};
    records[2] = (struct heap_record){.node = 3,
                                      .allocator = HEAP_MALLOC,
                                      .bytes = 200,
                                      .count = 2 * UNIT,
                                      .other_bytes = 200,
                                      .other_count = 2 * UNIT,
                                      .epoch = 5,
                                      .peak_bytes = 100,
                                      .peak_count = UNIT};
    area->record_count = 3;
    area->live_bytes = 700;
    area->peak_bytes = 800;
    area->peak_ticks = 500;
}

static void test_records_of_one_line_are_added(void **state)
{
    (void)state;
    struct made made = make();
    struct recording recording = {0};
    fill(made.area);
    open_drain(&made);
    finish(&made, &recording);
    assert_int_equal(recording.heap_count, 1);
    const struct heap_row *row = &recording.heap[0];
    assert_true(row->total_bytes == 1200 && row->total_count == 12);
    assert_true(row->live_bytes == 700 && row->live_count == 7);
    assert_true(row->peak_bytes == 800 && row->peak_count == 8);
    assert_int_equal(recording.heap_sizes_count, 1);
    assert_true(recording.heap_sizes[0].floor_bytes == 64 && recording.heap_sizes[0].total_bytes == 1200);
    assert_int_equal(recording.series_count, 3);
    assert_true(recording.series[0].value == 800 && recording.series[0].time_ns == 500);
    clear(&made, &recording);
}

static void test_events_of_the_log(void **state)
{
    (void)state;
    struct made made = make();
    struct recording recording = {0};
    fill(made.area);
    struct heap_event *ring = heap_area_ring(made.area, 1);
    ring[0] = (struct heap_event){.ticks = 10, .address = 4096, .packed = heap_blocks_entry(1, 100)};
    ring[1] = (struct heap_event){.ticks = 20, .address = 4096};
    ring[2] = (struct heap_event){.ticks = 30, .address = 8192, .packed = heap_blocks_entry(400, 100)};
    made.area->threads[1].written = 3;
    open_drain(&made);
    finish(&made, &recording);
    assert_int_equal(made.area->threads[1].taken, 3);
    assert_int_equal(recording.allocations_count, 2);
    assert_int_equal(recording.allocations[0].size_bytes, 100);
    assert_int_equal(recording.allocations[0].allocator, HEAP_MALLOC);
    assert_int_equal(recording.allocations[1].allocator, HEAP_FREE);
    clear(&made, &recording);
}

/* A block goes from thread to thread, and comes back to its address; what is large, or long after, has its own time. */
static void test_events_are_in_order(void **state)
{
    (void)state;
    enum { BLOCK = 4096, LARGE = 1 << 20 };
    struct made made = make();
    struct recording recording = {0};
    fill(made.area);
    made.area->threads[2] = (struct heap_thread_row){.tid = 2, .root = 1, .ring = 2};
    made.area->thread_count = 3;
    const struct {
        uint32_t thread;
        uint64_t ticks, packed, written_ns; /* the last: what is to be written */
    } events[] = {
        {1, 201000, heap_blocks_entry(1, 100), 201000},   {2, 201100, heap_blocks_entry(0, 100), 201000},
        {2, 201200, heap_blocks_entry(1, 200), 201000},   {1, 201300, heap_blocks_entry(0, 200), 201000},
        {1, 201400, heap_blocks_entry(1, LARGE), 201400}, {2, 201500, heap_blocks_entry(0, LARGE), 201500},
        {1, 201600, heap_blocks_entry(1, 300), 201500},   {1, 290000, heap_blocks_entry(0, 300), 290000},
    };
    enum { COUNT = sizeof events / sizeof *events };
    for (int i = 0; i < COUNT; i++) {
        struct heap_thread_row *row = &made.area->threads[events[i].thread];
        heap_area_ring(made.area, row->ring)[row->written++] =
            (struct heap_event){.ticks = events[i].ticks, .address = BLOCK, .packed = events[i].packed};
    }
    open_drain(&made);
    finish(&made, &recording);
    assert_int_equal(recording.allocations_count, COUNT);
    for (int i = 0; i < COUNT; i++) {
        const struct allocation_row *row = &recording.allocations[i];
        bool is_free = heap_blocks_record(events[i].packed) == 0;
        assert_int_equal(row->time_ns, events[i].written_ns);
        assert_int_equal(recording.threads[row->thread].tid, events[i].thread);
        assert_int_equal(row->allocator, is_free ? HEAP_FREE : HEAP_MALLOC);
        assert_int_equal(row->size_bytes, is_free ? 0 : heap_blocks_size(events[i].packed));
    }
    clear(&made, &recording);
}

/* Everything but the header's first words is garbage, or half of it is. */
static void test_overwritten_areas(void **state)
{
    (void)state;
    srand(7);
    for (int turn = 0; turn < 60; turn++) {
        struct made made = make();
        struct recording recording = {0};
        fill(made.area);
        open_drain(&made);
        size_t from = offsetof(struct heap_area, sample_bytes), bytes = heap_area_bytes(&limits);
        size_t codes = offsetof(struct heap_area, codes);
        for (int i = 0; i < 20000; i++) {
            size_t at = i % 2 ? from + (size_t)rand() % (codes - from)
                              : made.area->nodes_at + (size_t)rand() % (bytes - made.area->nodes_at);
            ((uint8_t *)made.area)[at] = (uint8_t)(turn % 2 ? rand() : rand() % 4);
        }
        heap_drain_step(made.drain, &rate);
        finish(&made, &recording);
        clear(&made, &recording);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records_of_one_line_are_added),
        cmocka_unit_test(test_events_of_the_log),
        cmocka_unit_test(test_events_are_in_order),
        cmocka_unit_test(test_overwritten_areas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
