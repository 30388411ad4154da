#include "collect/recorder/heap_drain.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/agent/heap_area.h"
#include "collect/agent/heap_blocks.h"
#include "collect/agent/own_memory.h"
#include "collect/recorder/heap_order.h"
#include "collect/recorder/heap_paths.h"
#include "collect/recorder/loss_notes.h"
#include "store/writer.h"

#define POINT_NS        20000000u /* between two looks at the size of the heap, at first */
#define POINTS_STEP     4096      /* after so many they become twice as rare */
#define ROWS_NS         1000000000u
#define ROWS_STEP       (1u << 17) /* likewise of the stacks: a few megabytes */
#define LOG_GRAIN_NS    10000u
#define LOG_EXACT_BYTES (64u << 10)
#define LOG_AGE_NS      20000u /* by then a thread that was not held up has said what it did */
#define DOUBLINGS_MAX   12

/* What one allocator gave at one stack of the file. Stacks that differ in an instruction but not in a line are one. */
struct drained_stack {
    struct heap_row now;
    struct heap_row written; /* last; `at_ns` 0 = not yet */
};

struct written_size {
    uint64_t count, bytes;
};

struct heap_drain {
    struct heap_area_view view;
    struct writer *writer;
    uint32_t process;
    struct heap_paths paths;
    struct heap_order order;
    uint64_t logged_ns; /* time of the last event that was written */
    uint32_t counter;   /* "heap" */
    /* By record: its stack below, plus 1; 0 = not yet. From the kernel, so that nothing of it stays when a process ends. */
    uint32_t *stack_of;
    struct drained_stack *stacks;
    uint32_t stack_count, stack_capacity;
    struct map stack_index; /* (node, thread, allocator) → stack */
    struct written_size sizes[HEAP_AREA_SIZES];
    uint64_t next_point_ns, points;
    uint64_t next_rows_ns, rows;
    int64_t last_point;
    bool end_written;
    uint64_t senseless;
};

static void add_counter(struct heap_drain *drain)
{
    const struct counter counter = {.name = writer_string(drain->writer, "heap", 4),
                                    .unit = writer_string(drain->writer, "bytes", 5),
                                    .process = drain->process,
                                    .kind = COUNTER_LEVEL};
    drain->counter = writer_counter(drain->writer, &counter);
}

struct heap_drain *heap_drain_new(struct heap_area *area, uint64_t bytes, struct writer *writer,
                                  uint32_t process)
{
    struct heap_drain *drain = calloc(1, sizeof *drain);
    if (!drain || !heap_area_look(&drain->view, area, bytes)) {
        free(drain);
        return NULL;
    }
    drain->writer = writer;
    drain->process = process;
    drain->order.view = drain->view;
    drain->stack_of = own_memory_map(drain->view.limits.records * sizeof *drain->stack_of);
    drain->next_rows_ns = clock_monotonic_ns() + ROWS_NS / 10;
    drain->last_point = -1;
    add_counter(drain);
    if (heap_paths_init(&drain->paths, &drain->view, WRITER_HEAP, writer, process) && drain->stack_of)
        return drain;
    heap_drain_free(drain);
    return NULL;
}

void heap_drain_free(struct heap_drain *drain)
{
    if (!drain)
        return;
    heap_paths_clear(&drain->paths);
    if (drain->stack_of)
        own_memory_unmap(drain->stack_of, drain->view.limits.records * sizeof *drain->stack_of);
    free(drain->stacks);
    map_clear(&drain->stack_index);
    free(drain);
}

void heap_drain_set_native(struct heap_drain *drain, heap_drain_find *find, void *context)
{
    heap_paths_set_native(&drain->paths, find, context);
}

/* ---- records ---- */

static uint64_t more(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

/* A time that becomes twice as long again and again. */
static uint64_t doubled(uint64_t ns, uint64_t times)
{
    return ns << (times < DOUBLINGS_MAX ? times : DOUBLINGS_MAX);
}

static uint64_t whole(uint64_t count)
{
    return (count + HEAP_AREA_COUNT_UNIT / 2) / HEAP_AREA_COUNT_UNIT;
}

/* The place of a stack, made when it is new; 0 when memory ran out. */
static uint32_t add_stack(struct heap_drain *drain, uint32_t thread, uint32_t node, uint32_t allocator)
{
    uint64_t key = (uint64_t)node << 32 ^ (uint64_t)thread << 8 ^ (allocator & 0xff);
    uint32_t found = map_get(&drain->stack_index, key);
    if (found != MAP_NONE)
        return found + 1;
    if (drain->stack_count == drain->stack_capacity) {
        uint32_t capacity = drain->stack_capacity * 2 + 256;
        struct drained_stack *grown = realloc(drain->stacks, capacity * sizeof *grown);
        if (!grown)
            return 0;
        drain->stacks = grown;
        drain->stack_capacity = capacity;
    }
    if (!map_set(&drain->stack_index, key, drain->stack_count))
        return 0;
    drain->stacks[drain->stack_count] =
        (struct drained_stack){.now = {.thread = thread, .node = node, .allocator = (uint8_t)allocator}};
    return ++drain->stack_count;
}

static struct heap_record read_record(const struct heap_drain *drain, uint32_t number)
{
    struct heap_record record = drain->view.records[number];
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return record;
}

static uint32_t record_count(const struct heap_drain *drain)
{
    uint32_t count = __atomic_load_n(&drain->view.area->record_count, __ATOMIC_ACQUIRE);
    return count < drain->view.limits.records ? count : drain->view.limits.records;
}

/* The stack of a record; NULL when its rows make no sense, or are not filled yet. */
static struct drained_stack *stack_of(struct heap_drain *drain, uint32_t number)
{
    uint32_t row = __atomic_load_n(&drain->view.records[number].node, __ATOMIC_ACQUIRE);
    uint32_t allocator = drain->view.records[number].allocator;
    if (row && !drain->stack_of[number]) {
        uint32_t node = heap_paths_node(&drain->paths, row);
        uint32_t thread =
            node == HEAP_PATHS_NONE ? 0 : heap_paths_thread(&drain->paths, drain->view.nodes[row].thread);
        drain->stack_of[number] = thread ? add_stack(drain, thread, node, allocator) : 0;
        drain->senseless += !drain->stack_of[number];
    }
    return drain->stack_of[number] ? &drain->stacks[drain->stack_of[number] - 1] : NULL;
}

/* Counts stay in their unit until the row is written. */
static void add_record(struct heap_row *row, const struct heap_record *record, uint64_t epoch)
{
    uint64_t live_bytes = more(record->bytes, record->freed_bytes + record->other_bytes);
    uint64_t live_count = more(record->count, record->freed_count + record->other_count);
    row->live_bytes += live_bytes;
    row->live_count += live_count;
    row->total_bytes += record->bytes;
    row->total_count += record->count;
    row->peak_bytes += record->epoch == epoch ? record->peak_bytes : live_bytes;
    row->peak_count += record->epoch == epoch ? record->peak_count : live_count;
    row->temporary_bytes += record->temporary_bytes;
    row->temporary_count += record->temporary_count;
}

/* As it was when the program ended, before the interpreter was taken down. */
static void at_end(struct heap_record *record)
{
    record->freed_bytes = more(record->bytes, record->end_bytes);
    record->freed_count = more(record->count, record->end_count);
    record->other_bytes = record->other_count = 0;
}

static void add_up(struct heap_drain *drain, bool ended)
{
    uint64_t epoch = __atomic_load_n(&drain->view.area->epoch, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < drain->stack_count; i++) {
        const struct heap_row *now = &drain->stacks[i].now;
        drain->stacks[i].now =
            (struct heap_row){.thread = now->thread, .node = now->node, .allocator = now->allocator};
    }
    for (uint32_t i = 1, count = record_count(drain); i < count; i++) {
        struct drained_stack *stack = stack_of(drain, i);
        struct heap_record record = read_record(drain, i);
        if (ended)
            at_end(&record);
        if (stack)
            add_record(&stack->now, &record, epoch);
    }
}

static void write_row(struct heap_drain *drain, struct drained_stack *stack, uint64_t ns)
{
    struct heap_row row = stack->now;
    row.at_ns = stack->written.at_ns;
    if (memcmp(&row, &stack->written, sizeof row) == 0)
        return;
    row.at_ns = ns;
    stack->written = row;
    row.live_count = whole(row.live_count);
    row.total_count = whole(row.total_count);
    row.peak_count = whole(row.peak_count);
    row.temporary_count = whole(row.temporary_count);
    writer_heap(drain->writer, &row);
    drain->rows++;
}

static void write_stacks(struct heap_drain *drain, uint64_t ns, bool ended)
{
    add_up(drain, ended);
    for (uint32_t i = 0; i < drain->stack_count; i++)
        write_row(drain, &drain->stacks[i], ns);
}

static void write_end(struct heap_drain *drain)
{
    char text[32];
    uint64_t end_ticks = __atomic_load_n(&drain->view.area->end_ticks, __ATOMIC_ACQUIRE);
    if (!end_ticks || drain->end_written)
        return;
    drain->end_written = true;
    uint64_t end_ns = clock_to_ns(&drain->paths.rate, end_ticks);
    if (drain->process == 1) {
        snprintf(text, sizeof text, "%" PRIu64, end_ns);
        writer_meta(drain->writer, "heap_end_ns", text);
    }
    write_stacks(drain, end_ns, true);
}

static void write_rows(struct heap_drain *drain, uint64_t now_ns)
{
    if (drain->view.area->totals)
        return;
    write_end(drain);
    write_stacks(drain, now_ns, false);
    drain->next_rows_ns = now_ns + doubled(ROWS_NS, drain->rows / ROWS_STEP);
}

/* ---- sizes ---- */

/* Row `bits` holds the sizes that have so many bits. */
static void write_size(struct heap_drain *drain, uint32_t bits)
{
    struct written_size now = {0};
    for (uint32_t i = 1; i < HEAP_AREA_THREADS && i < drain->view.area->thread_count; i++) {
        now.count += drain->view.area->threads[i].sizes[bits].count;
        now.bytes += drain->view.area->threads[i].sizes[bits].bytes;
    }
    struct written_size *before = &drain->sizes[bits];
    const struct heap_size_row row = {.process = drain->process,
                                      .floor_bytes = bits ? (uint64_t)1 << (bits - 1) : 0,
                                      .count = more(whole(now.count), whole(before->count)),
                                      .total_bytes = more(now.bytes, before->bytes)};
    if (row.count)
        writer_heap_size(drain->writer, &row);
    *before = now;
}

/* ---- the log ---- */

/* Small blocks that follow closely have the time of the first of them: exact times would take ten times as much room as all
 * else. None is late, none is out of order, and large ones are exact. */
static uint64_t logged_ns(struct heap_drain *drain, uint64_t ticks, uint64_t size_bytes)
{
    uint64_t ns = clock_to_ns(&drain->paths.rate, ticks);
    bool close = ns < drain->logged_ns + LOG_GRAIN_NS && size_bytes < LOG_EXACT_BYTES;
    if (ns > drain->logged_ns && !close)
        drain->logged_ns = ns;
    return drain->logged_ns;
}

static void write_event(void *context, uint32_t place, const struct heap_event *event)
{
    struct heap_drain *drain = context;
    uint32_t number = heap_blocks_record(event->packed);
    uint64_t size_bytes = heap_blocks_size(event->packed);
    bool is_free = number == 0 || number == HEAP_AREA_PART;
    const struct drained_stack *stack =
        !is_free && number < drain->view.limits.records ? stack_of(drain, number) : NULL;
    struct allocation_row row = {.address = event->address,
                                 .size_bytes = number ? size_bytes : 0,
                                 .thread = heap_paths_thread(&drain->paths, place)};
    if (!row.thread || (!is_free && !stack))
        return;
    row.time_ns = logged_ns(drain, event->ticks, size_bytes);
    if (stack) {
        row.node = stack->now.node;
        row.allocator = stack->now.allocator;
    }
    writer_allocation(drain->writer, &row);
}

static bool drain_rings(struct heap_drain *drain, bool all)
{
    const double ns_per_tick = drain->paths.rate.ns_per_tick;
    uint64_t age_ticks = ns_per_tick > 0 ? (uint64_t)(LOG_AGE_NS / ns_per_tick) : 0;
    return !drain->view.area->totals && heap_order_take(&drain->order, age_ticks, all, write_event, drain);
}

/* ---- the whole ---- */

static void write_point(struct heap_drain *drain, uint64_t ns, int64_t bytes)
{
    const struct series_row row = {.time_ns = ns, .value = bytes, .counter = drain->counter};
    writer_series(drain->writer, &row);
    drain->points++;
    drain->next_point_ns = ns + doubled(POINT_NS, drain->points / POINTS_STEP);
    drain->last_point = bytes;
}

static void look_at_size(struct heap_drain *drain, uint64_t now_ns)
{
    int64_t bytes = __atomic_load_n(&drain->view.area->live_bytes, __ATOMIC_RELAXED);
    if (now_ns >= drain->next_point_ns && bytes != drain->last_point)
        write_point(drain, now_ns, bytes);
}

bool heap_drain_step(struct heap_drain *drain, const struct clock_rate *rate)
{
    uint64_t now_ns = clock_monotonic_ns();
    heap_paths_refresh(&drain->paths, rate);
    look_at_size(drain, now_ns);
    if (now_ns >= drain->next_rows_ns)
        write_rows(drain, now_ns);
    return drain_rings(drain, false);
}

static void note(struct heap_drain *drain, enum note_kind kind, uint64_t count, const char *text)
{
    loss_notes_put(drain->writer, drain->process, kind, count, text);
}

static void note_losses(struct heap_drain *drain)
{
    const struct heap_area *area = drain->view.area;
    note(drain, NOTE_LOSS, area->missed,
         "allocations not counted: in signal handlers that interrupted the counting");
    note(drain, NOTE_LOSS, area->lost_nodes, "stacks charged to their callers because there were too many");
    note(drain, NOTE_LOSS, area->lost_blocks, "blocks whose end cannot be told for lack of memory");
    note(drain, NOTE_LOSS, area->lost_events,
         "events missing from the log because the recorder was too slow");
    note(drain, NOTE_LOSS, area->lost_threads, "times that a thread found no room to be counted in");
    note(drain, NOTE_LOSS, drain->senseless, "rows passed over because the program overwrote them");
    note(drain, NOTE_WARNING, area->merged_threads,
         "threads counted together with others that had ended, because there were too many");
}

void heap_drain_finish(struct heap_drain *drain, const struct clock_rate *rate, uint64_t end_ticks)
{
    const struct heap_area *area = drain->view.area;
    heap_drain_step(drain, rate);
    drain_rings(drain, true);
    uint64_t end_ns = clock_to_ns(rate, end_ticks);
    write_rows(drain, end_ns);
    for (uint32_t bits = 0; bits < HEAP_AREA_SIZES && !area->totals; bits++)
        write_size(drain, bits);
    if (area->peak_ticks)
        write_point(drain, clock_to_ns(rate, area->peak_ticks), (int64_t)area->peak_bytes);
    write_point(drain, end_ns, area->live_bytes);
    heap_paths_end_threads(&drain->paths, end_ticks);
    note_losses(drain);
}

uint64_t heap_drain_memory_bytes(const struct heap_drain *drain)
{
    const struct heap_area *area = drain->view.area;
    return area->private_bytes + (uint64_t)area->node_count * sizeof(struct heap_node) +
           (uint64_t)area->record_count * sizeof(struct heap_record) + area->codes.text_used +
           (uint64_t)area->codes.count * sizeof(struct code_row) +
           (uint64_t)area->ring_count * HEAP_AREA_RING_EVENTS * sizeof(struct heap_event);
}
