#include "collect/agent/heap_counting.h"

#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collect/agent/heap_area.h"
#include "collect/agent/heap_blocks.h"
#include "collect/agent/heap_thread.h"
#include "collect/agent/own_memory.h"

#define NATIVE_PATIENCE_MS                                                                                   \
    5000                 /* how long the program waits at its start until the recorder has read its code */
#define STOP_TRIES 10000 /* turns left to others, until threads have left the tracker */

struct heap_counting heap_counting;

/* A forked child begins with the rows of its parent. */
static void start_native(struct heap_area *area)
{
    struct native_area *native = heap_area_native(area);
    if (!heap_counting.inherited_pid)
        heap_counting.walker =
            (struct native_walker){0}; /* what it knew of an earlier area is gone with that */
    if (!native)
        return;
    if (heap_counting.inherited_pid)
        native_stack_after_fork(&heap_counting.walker, native, heap_counting.inherited_pid);
    else
        native_stack_init(&heap_counting.walker, native);
    heap_native_init();
}

int heap_counting_start(struct heap_area *area, const struct heap_settings *settings, uint8_t shift)
{
    if (heap_counting.area || !heap_thread_prepare() || !heap_tree_open(&heap_counting.tree, area))
        return -1;
    heap_tracker_forget();
    heap_blocks_set_shift(shift);
    heap_counting.settings = *settings;
    heap_counting.shift = shift;
    heap_counting.generation++;
    heap_counting.never = false;
    heap_tracker_countdown = 0; /* it may have been told that nothing will ever be counted */
    area->sample_bytes = settings->sample_bytes;
    heap_tracker_counts_all = !settings->sample_bytes;
    heap_counting_read_python(heap_counting.interpreter);
    start_native(area);
    __atomic_store_n(&heap_counting.area, area, __ATOMIC_SEQ_CST);
    return 0;
}

static bool is_anyone_busy(const struct heap_area *area)
{
    for (uint32_t i = 1; i < area->thread_count && i < HEAP_AREA_THREADS; i++)
        if (__atomic_load_n(&area->threads[i].busy, __ATOMIC_SEQ_CST))
            return true;
    return false;
}

void heap_counting_stop(void)
{
    struct heap_area *area = __atomic_exchange_n(&heap_counting.area, NULL, __ATOMIC_SEQ_CST);
    heap_tracker_counts_all = false;
    for (int tries = 0; area && tries < STOP_TRIES && is_anyone_busy(area); tries++)
        sched_yield();
    heap_tree_close(&heap_counting.tree);
}

struct heap_area *heap_counting_area(void)
{
    return heap_counting.area;
}

int64_t heap_counting_live_bytes(void)
{
    struct heap_area *area = heap_counting.area;
    return area ? __atomic_load_n(&area->live_bytes, __ATOMIC_RELAXED) : 0;
}

void heap_counting_read_python(struct stack_reader *interpreter)
{
    heap_counting.interpreter = interpreter;
    if (interpreter)
        heap_stack_reader_init(&heap_counting.reader, interpreter, &heap_counting.tree);
    else
        heap_counting.reader.interpreter = NULL;
}

void heap_counting_await_native(void)
{
    const struct timespec wait = {.tv_nsec = 1000000};
    for (int ms = 0;
         heap_counting.walker.area && ms < NATIVE_PATIENCE_MS && !native_stack_ready(&heap_counting.walker);
         ms++)
        syscall(SYS_nanosleep, &wait, NULL);
}

/* Threads have about as much as the calling one. */
static uint64_t private_bytes(const struct heap_area *area)
{
    const struct heap_tree *tree = &heap_counting.tree;
    struct heap_thread *thread = heap_thread_own();
    uint64_t bytes = heap_blocks_resident_bytes(), threads = 0;
    for (uint32_t i = 1; i < area->thread_count && i < HEAP_AREA_THREADS; i++)
        threads += area->threads[i].in_use;
    bytes += own_memory_resident_bytes(tree->index, (tree->index_mask + (size_t)1) * sizeof *tree->index);
    return bytes + (thread ? threads * own_memory_resident_bytes(thread, sizeof *thread) : 0);
}

void heap_counting_program_ends(void)
{
    struct heap_area *area = heap_counting.area;
    if (!area)
        return;
    struct heap_record *records = heap_area_records(area);
    for (uint32_t i = 1; i < area->record_count && i < area->limits.records; i++) {
        records[i].end_bytes = records[i].bytes - records[i].freed_bytes - records[i].other_bytes;
        records[i].end_count = records[i].count - records[i].freed_count - records[i].other_count;
    }
    area->private_bytes = private_bytes(area);
    __atomic_store_n(&area->end_ticks, heap_area_now(area), __ATOMIC_RELEASE);
}

void heap_counting_rest(bool resting)
{
    __atomic_store_n(&heap_counting.resting, resting, __ATOMIC_RELAXED);
}

void heap_counting_never(void)
{
    heap_counting.never = true;
    heap_counting.open = NULL;
    heap_tracker_countdown = INT64_MAX;
}

void heap_counting_after_fork(struct heap_area *(*open)(void))
{
    struct heap_area *inherited = heap_counting.area;
    if (!inherited)
        return;
    heap_counting.area = NULL;
    heap_counting.generation++;
    heap_counting.opening = 0;
    heap_tree_close(&heap_counting.tree);
    heap_tracker_forget();
    heap_counting.inherited_pid = open ? inherited->pid : 0;
    if (!heap_counting.walker.area) /* the rows are read until there are own ones */
        own_memory_unmap(inherited, inherited->total_bytes);
    heap_tracker_countdown = 0;
    heap_counting.open = open;
    if (!open)
        heap_counting_never();
}

bool heap_counting_open(void)
{
    uint32_t unused = 0;
    if (!heap_counting.open || !__atomic_compare_exchange_n(&heap_counting.opening, &unused, 1, false,
                                                            __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return false;
    struct heap_area *(*open)(void) = heap_counting.open;
    const struct heap_settings settings = heap_counting.settings;
    heap_counting.open = NULL;
    struct heap_area *area = open();
    heap_counting.opening = 0;
    if (!area || heap_counting_start(area, &settings, heap_counting.shift) < 0)
        heap_counting_never();
    return heap_counting.area;
}
