#include "collect/agent/heap_thread.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/agent/heap_area.h"
#include "collect/agent/heap_rings.h"
#include "collect/agent/heap_tree.h"
#include "collect/agent/own_memory.h"
#include "collect/agent/stack_sample.h"

HEAP_TRACKER_TLS struct heap_thread *heap_thread_current;
static HEAP_TRACKER_TLS bool entering;
static pthread_key_t key;
static bool has_key;

static void release(struct heap_thread *thread)
{
    struct heap_area *area = heap_counting.area;
    if (area && thread->generation == heap_counting.generation) {
        thread->row->end_ticks = heap_area_now(area);
        __atomic_store_n(&thread->row->in_use, 0, __ATOMIC_RELEASE);
    }
    own_memory_unmap(thread, sizeof *thread);
}

/* Other destructors may allocate and free after ours: it asks to be called again as often as it can. */
static void thread_ends(void *value)
{
    struct heap_thread *thread = value;
    if (++thread->rounds < 3 && pthread_setspecific(key, thread) == 0)
        return;
    heap_thread_current = NULL;
    entering = true; /* no more: what the C library itself still does is not counted */
    release(thread);
}

/* 0 when there is no row. */
static uint32_t take_row(struct heap_area *area)
{
    uint32_t number = __atomic_fetch_add(&area->thread_count, 1, __ATOMIC_ACQ_REL);
    if (number < HEAP_AREA_THREADS)
        return number;
    __atomic_fetch_sub(&area->thread_count, 1, __ATOMIC_RELAXED);
    for (number = 1; number < HEAP_AREA_THREADS; number++) {
        uint32_t unused = 0;
        if (!area->threads[number].in_use &&
            __atomic_compare_exchange_n(&area->threads[number].in_use, &unused, 1, false, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED)) {
            __atomic_fetch_add(&area->merged_threads, 1, __ATOMIC_RELAXED);
            return number;
        }
    }
    __atomic_fetch_add(&area->lost_threads, 1, __ATOMIC_RELAXED);
    return 0;
}

static bool fill_row(struct heap_thread *thread, struct heap_area *area)
{
    thread->number = take_row(area);
    if (!thread->number)
        return false;
    struct heap_thread_row *row = thread->row = &area->threads[thread->number];
    if (!row->root)
        row->root = heap_tree_root(&heap_counting.tree, thread->number);
    if (!row->root)
        return false;
    thread->root = row->root;
    row->start_ticks = row->start_ticks ? row->start_ticks : heap_area_now(area);
    row->end_ticks = 0;
    row->in_use = 1;
    if (syscall(SYS_gettid) == getpid())
        strcpy(row->name, "MainThread");
    else
        prctl(PR_GET_NAME, row->name);
    if (heap_counting.settings.log && !row->ring)
        row->ring = heap_rings_new(area);
    __atomic_store_n(&row->tid, (uint64_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
    return true;
}

int64_t heap_thread_draw_countdown(struct heap_thread *thread)
{
    thread->random ^= thread->random << 13;
    thread->random ^= thread->random >> 7;
    thread->random ^= thread->random << 17;
    double uniform = ((double)(thread->random >> 11) + 1) / 9007199254740993.0;
    return (int64_t)(-log(uniform) * (double)heap_counting.settings.sample_bytes) + 1;
}

static struct heap_thread *make_thread(void)
{
    struct heap_thread *thread = own_memory_map(sizeof *thread);
    if (!thread)
        return NULL;
    thread->error = &errno;
    thread->generation = heap_counting.generation;
    thread->random = clock_counter() * 0x9e3779b97f4a7c15u ^ (uint64_t)&heap_thread_current;
    thread->random += !thread->random;
    if (!fill_row(thread, heap_counting.area)) {
        own_memory_unmap(thread, sizeof *thread);
        return NULL;
    }
    pthread_setspecific(key, thread);
    return thread;
}

struct heap_thread *heap_thread_enter(void)
{
    if (heap_counting.never)
        heap_tracker_countdown = INT64_MAX;
    if (heap_counting.never || entering || (!heap_counting.area && !heap_counting.open))
        return NULL;
    int saved = errno;
    entering = true;
    if (heap_thread_current) {
        pthread_setspecific(key, NULL);
        own_memory_unmap(heap_thread_current, sizeof *heap_thread_current);
        heap_thread_current = NULL;
    }
    if (heap_counting.area || heap_counting_open())
        heap_thread_current = make_thread();
    entering = false;
    errno = saved;
    if (heap_thread_current && heap_counting.settings.sample_bytes)
        heap_tracker_countdown = heap_thread_draw_countdown(heap_thread_current);
    return heap_thread_current;
}

bool heap_thread_prepare(void)
{
    has_key = has_key || pthread_key_create(&key, thread_ends) == 0;
    return has_key;
}

void heap_thread_ask_name(struct heap_thread *thread)
{
    char name[sizeof thread->row->name] = "";
    const struct stack_reader *interpreter = heap_counting.reader.interpreter;
    uint64_t state = interpreter ? stack_sample_own_state(interpreter) : 0;
    struct memory memory = memory_own();
    if (!state || thread->name_tries++ >= HEAP_THREAD_NAME_TRIES ||
        !thread_names_find(&thread->names, &interpreter->layout, &memory, state) ||
        thread_names_read(&thread->names, &interpreter->layout, &memory, state, name, sizeof name - 1) <= 0)
        return;
    memcpy(thread->row->name, name, sizeof name);
    thread->name_tries = HEAP_THREAD_NAME_TRIES;
}
