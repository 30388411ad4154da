#include "collect/agent/heap_tracker.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collect/agent/heap_area.h"
#include "collect/agent/heap_blocks.h"
#include "collect/agent/heap_native.h"
#include "collect/agent/heap_ranges.h"
#include "collect/agent/heap_rings.h"
#include "collect/agent/heap_stack.h"
#include "collect/agent/heap_tree.h"
#include "collect/agent/own_memory.h"
#include "collect/agent/stack_sample.h"
#include "python/thread_names.h"

#define LIKELY(condition) __builtin_expect((condition), 1)
#define NATIVE_PATIENCE_MS                                                                                   \
    5000                 /* how long the program waits at its start until the recorder has read its code */
#define NAME_TRIES 32    /* new stacks of a thread, at which its name is asked for */
#define STOP_TRIES 10000 /* turns left to others, until threads have left the tracker */

HEAP_TRACKER_TLS int64_t heap_tracker_countdown;
HEAP_TRACKER_TLS uint32_t heap_tracker_nested;
uint8_t heap_tracker_filter[HEAP_TRACKER_FILTER];
bool heap_tracker_counts_all;

/* What a thread knows of itself. */
struct counting_thread {
    struct heap_thread_row *row;
    uint32_t number, root;
    uint32_t generation;              /* of the tracker, when this was made */
    uint32_t rounds;                  /* that its end was told */
    uint64_t last_block;              /* that it allocated, if that counted */
    int64_t last_countdown;           /* as it was then: nothing was allocated since if it still is */
    uint32_t node, allocator, record; /* the last ones */
    uint64_t random;
    uint32_t python, native_node, pair; /* the last pair of paths */
    uint32_t name_tries;
    struct thread_names names;
    struct heap_stack stack;
    struct heap_native native;
};

static HEAP_TRACKER_TLS struct counting_thread *own;
static HEAP_TRACKER_TLS bool entering;
static HEAP_TRACKER_TLS int64_t growth_bytes;

static struct {
    struct heap_area *area; /* NULL = nothing is counted */
    struct heap_settings settings;
    struct heap_tree tree;
    struct heap_stack_reader reader;
    struct stack_reader *interpreter;
    struct native_walker walker; /* without an area: no native stacks */
    uint32_t generation;
    uint8_t shift;
    bool never;
    bool resting;
    pthread_key_t key;
    bool has_key;
    struct heap_area *(*open)(void); /* not NULL: there is no area yet */
    uint32_t opening;
    uint64_t inherited_pid; /* of the process that forked this one; 0 = none */
} heap;

/* ---- threads ---- */

static void release(struct counting_thread *thread)
{
    struct heap_area *area = heap.area;
    if (area && thread->generation == heap.generation) {
        thread->row->end_ticks = heap_area_now(area);
        __atomic_store_n(&thread->row->in_use, 0, __ATOMIC_RELEASE);
    }
    own_memory_unmap(thread, sizeof *thread);
}

/* Other destructors may allocate and free after ours: it asks to be called again as often as it can. */
static void thread_ends(void *value)
{
    struct counting_thread *thread = value;
    if (++thread->rounds < 3 && pthread_setspecific(heap.key, thread) == 0)
        return;
    own = NULL;
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

static bool fill_row(struct counting_thread *thread, struct heap_area *area)
{
    thread->number = take_row(area);
    if (!thread->number)
        return false;
    struct heap_thread_row *row = thread->row = &area->threads[thread->number];
    if (!row->root)
        row->root = heap_tree_root(&heap.tree, thread->number);
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
    if (heap.settings.log && !row->ring)
        row->ring = heap_rings_new(area);
    __atomic_store_n(&row->tid, (uint64_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
    return true;
}

static int64_t draw_countdown(struct counting_thread *thread)
{
    thread->random ^= thread->random << 13;
    thread->random ^= thread->random >> 7;
    thread->random ^= thread->random << 17;
    double uniform = ((double)(thread->random >> 11) + 1) / 9007199254740993.0;
    return (int64_t)(-log(uniform) * (double)heap.settings.sample_bytes) + 1;
}

static struct counting_thread *make_thread(void)
{
    struct counting_thread *thread = own_memory_map(sizeof *thread);
    if (!thread)
        return NULL;
    thread->generation = heap.generation;
    thread->random = clock_counter() * 0x9e3779b97f4a7c15u ^ (uint64_t)&own;
    thread->random += !thread->random;
    if (!fill_row(thread, heap.area)) {
        own_memory_unmap(thread, sizeof *thread);
        return NULL;
    }
    pthread_setspecific(heap.key, thread);
    return thread;
}

/* A forked child has none until it allocates. */
static bool open_area(void)
{
    uint32_t unused = 0;
    if (!heap.open ||
        !__atomic_compare_exchange_n(&heap.opening, &unused, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return false;
    struct heap_area *(*open)(void) = heap.open;
    const struct heap_settings settings = heap.settings;
    heap.open = NULL;
    struct heap_area *area = open();
    heap.opening = 0;
    if (!area || heap_tracker_start(area, &settings, heap.shift) < 0)
        heap_tracker_never();
    return heap.area;
}

static struct counting_thread *enter_thread(void)
{
    if (heap.never)
        heap_tracker_countdown = INT64_MAX;
    if (heap.never || entering || (!heap.area && !heap.open))
        return NULL;
    entering = true;
    if (own) {
        pthread_setspecific(heap.key, NULL);
        own_memory_unmap(own, sizeof *own);
        own = NULL;
    }
    if (heap.area || open_area())
        own = make_thread();
    entering = false;
    if (own && heap.settings.sample_bytes)
        heap_tracker_countdown = draw_countdown(own);
    return own;
}

static inline struct counting_thread *own_thread(void)
{
    struct counting_thread *thread = own;
    return LIKELY(thread && thread->generation == heap.generation && heap.area) ? thread : NULL;
}

/* ---- records ---- */

/* What a block stands for. */
struct weight {
    uint64_t bytes, count;
};

/* A block of s bytes is sampled with the probability 1 - exp(-s / R), and stands for that many of its like. */
static inline struct weight weigh(uint64_t bytes)
{
    if (LIKELY(!heap.settings.sample_bytes))
        return (struct weight){bytes, HEAP_AREA_COUNT_UNIT};
    double chance = -expm1(-(double)bytes / (double)heap.settings.sample_bytes);
    return (struct weight){(uint64_t)((double)bytes / chance + 0.5),
                           (uint64_t)(HEAP_AREA_COUNT_UNIT / chance + 0.5)};
}

/* Before a record changes for the first time since the peak: what was alive then. */
static inline void save_peak(struct heap_record *record, uint64_t epoch)
{
    if (record->epoch == epoch)
        return;
    record->peak_bytes = record->bytes - record->freed_bytes - record->other_bytes;
    record->peak_count = record->count - record->freed_count - record->other_count;
    record->epoch = epoch;
}

static void raise_peak(struct heap_area *area, uint64_t live_bytes)
{
    uint64_t peak = __atomic_load_n(&area->peak_bytes, __ATOMIC_RELAXED);
    while (live_bytes > peak)
        if (__atomic_compare_exchange_n(&area->peak_bytes, &peak, live_bytes, true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED)) {
            __atomic_fetch_add(&area->epoch, 1, __ATOMIC_RELAXED);
            area->peak_ticks = heap_area_now(area);
            return;
        }
}

static inline void change_live(struct heap_area *area, int64_t bytes)
{
    int64_t live = __atomic_add_fetch(&area->live_bytes, bytes, __ATOMIC_RELAXED);
    growth_bytes += bytes;
    if (bytes > 0 && live > (int64_t)__atomic_load_n(&area->peak_bytes, __ATOMIC_RELAXED))
        raise_peak(area, (uint64_t)live);
}

static inline uint32_t find_pair(struct counting_thread *thread, uint32_t python)
{
    uint32_t native = heap_native_node(&thread->native, &heap.walker, &heap.tree, thread->root);
    if (thread->python == python && thread->native_node == native && thread->pair)
        return thread->pair;
    thread->python = python;
    thread->native_node = native;
    return thread->pair = heap_tree_pair(&heap.tree, python, native);
}

static inline uint32_t find_node(struct counting_thread *thread)
{
    uint32_t python = heap_stack_node(&thread->stack, &heap.reader, thread->root);
    return heap.walker.area && heap.reader.interpreter ? find_pair(thread, python) : python;
}

/* A program names its threads when they have begun already. */
static void name_thread(struct counting_thread *thread)
{
    char name[sizeof thread->row->name] = "";
    const struct stack_reader *interpreter = heap.reader.interpreter;
    uint64_t state = interpreter ? stack_sample_own_state(interpreter) : 0;
    struct memory memory = memory_own();
    if (!state || thread->name_tries++ >= NAME_TRIES ||
        !thread_names_find(&thread->names, &interpreter->layout, &memory, state) ||
        thread_names_read(&thread->names, &interpreter->layout, &memory, state, name, sizeof name - 1) <= 0)
        return;
    memcpy(thread->row->name, name, sizeof name);
    thread->name_tries = NAME_TRIES;
}

static inline uint32_t find_record(struct counting_thread *thread, enum heap_allocator allocator)
{
    uint32_t node = heap.settings.stacks ? find_node(thread) : thread->root;
    if (thread->node == node && thread->allocator == allocator)
        return thread->record;
    uint32_t known = heap.area->record_count;
    thread->record = heap_tree_record(&heap.tree, node, allocator);
    if (heap.area->record_count > known && thread->name_tries < NAME_TRIES)
        name_thread(thread);
    thread->node = thread->record ? node : 0;
    thread->allocator = allocator;
    return thread->record;
}

static inline void count_size(struct counting_thread *thread, uint64_t bytes, struct weight weight)
{
    unsigned bits = bytes ? 64 - (unsigned)__builtin_clzll(bytes) : 0;
    struct heap_size *size = &thread->row->sizes[bits < HEAP_AREA_SIZES ? bits : HEAP_AREA_SIZES - 1];
    size->count += weight.count;
    size->bytes += weight.bytes;
}

/* The record that the block now belongs to; 0 when it is not counted. */
static uint32_t count_block(struct counting_thread *thread, struct heap_area *area, uint64_t address,
                            uint64_t bytes, enum heap_allocator allocator)
{
    uint32_t number = find_record(thread, allocator);
    if (!number)
        return 0;
    struct heap_record *record = &heap_area_records(area)[number];
    struct weight weight = weigh(bytes);
    save_peak(record, __atomic_load_n(&area->epoch, __ATOMIC_RELAXED));
    record->bytes += weight.bytes;
    record->count += weight.count;
    change_live(area, (int64_t)weight.bytes);
    count_size(thread, bytes, weight);
    if (heap.settings.log)
        heap_rings_put(area, thread->row, address, heap_blocks_entry(number, bytes));
    thread->last_block = address;
    thread->last_countdown = heap_tracker_countdown;
    return number;
}

/* Until the next block that counts. */
static inline void rearm(struct counting_thread *thread)
{
    heap_tracker_countdown = LIKELY(!heap.settings.sample_bytes) ? -1 : draw_countdown(thread);
}

/* False when a signal handler has interrupted the thread's own counting. */
static inline bool begin(struct counting_thread *thread)
{
    if (thread->row->busy)
        return false;
    __atomic_store_n(&thread->row->busy, 1, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return true;
}

static inline void leave(struct counting_thread *thread)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    __atomic_store_n(&thread->row->busy, 0, __ATOMIC_RELEASE);
}

/* Begins the counting of something new; NULL when it is not to be counted. */
static inline struct counting_thread *begin_block(uint64_t bytes)
{
    struct counting_thread *thread = own_thread();
    if (heap_tracker_nested)
        return NULL;
    if (!thread) {
        thread = enter_thread();
        if (!thread || (heap.settings.sample_bytes && (heap_tracker_countdown -= (int64_t)bytes) >= 0))
            return NULL;
    }
    if (__builtin_expect(__atomic_load_n(&heap.resting, __ATOMIC_RELAXED), 0)) {
        rearm(thread);
        return NULL;
    }
    if (!begin(thread)) {
        __atomic_fetch_add(&heap.area->missed, 1, __ATOMIC_RELAXED);
        return NULL;
    }
    rearm(thread);
    return thread;
}

static void remember(struct heap_area *area, const void *block, uint64_t entry)
{
    uint64_t *place = heap_blocks_place((uint64_t)block);
    if (!place) {
        __atomic_fetch_add(&area->lost_blocks, 1, __ATOMIC_RELAXED);
        return;
    }
    *place = entry;
    if (!heap_tracker_counts_all && *heap_tracker_filtered(block) < UINT8_MAX)
        __atomic_fetch_add(heap_tracker_filtered(block), 1, __ATOMIC_RELAXED);
}

void heap_tracker_allocated(const void *block, size_t bytes, enum heap_allocator allocator)
{
    int saved = errno;
    struct counting_thread *thread = block ? begin_block(bytes) : NULL;
    if (thread) {
        struct heap_area *area = heap.area;
        uint32_t record = count_block(thread, area, (uint64_t)block, bytes, allocator);
        if (record)
            remember(area, block, heap_blocks_entry(record, bytes));
        leave(thread);
    }
    errno = saved;
}

/* ---- frees ---- */

static void forget_filtered(const void *block)
{
    uint8_t *count = heap_tracker_filtered(block);
    if (!heap_tracker_counts_all && *count < UINT8_MAX) /* one that was full once stays so */
        __atomic_fetch_sub(count, 1, __ATOMIC_RELAXED);
}

uint64_t heap_tracker_take(const void *block)
{
    uint64_t entry = heap.area && block ? heap_blocks_take((uint64_t)block) : 0;
    if (entry)
        forget_filtered(block);
    return entry;
}

void heap_tracker_put_back(const void *block, uint64_t entry)
{
    if (entry && heap.area)
        remember(heap.area, block, entry);
}

static bool is_temporary(const struct counting_thread *thread, uint64_t address)
{
    return address && thread->last_block == address && thread->last_countdown == heap_tracker_countdown;
}

/* By the thread that owns the record. */
static inline void uncount_own(struct heap_record *record, struct weight weight, bool temporary)
{
    record->freed_bytes += weight.bytes;
    record->freed_count += weight.count;
    if (temporary) {
        record->temporary_bytes += weight.bytes;
        record->temporary_count += weight.count;
    }
}

/* `thread`: the calling one; NULL when it is not known, or interrupted in its own counting. `address`: 0 for a block that
 * has only moved, which is not temporary. */
static void uncount(struct heap_area *area, struct counting_thread *thread, uint64_t address, uint32_t number,
                    struct weight weight)
{
    struct heap_record *record = &heap_area_records(area)[number];
    save_peak(record, __atomic_load_n(&area->epoch, __ATOMIC_RELAXED));
    if (thread && heap_area_nodes(area)[record->node].thread == thread->number) {
        uncount_own(record, weight, is_temporary(thread, address));
    } else {
        __atomic_fetch_add(&record->other_bytes, weight.bytes, __ATOMIC_RELAXED);
        __atomic_fetch_add(&record->other_count, weight.count, __ATOMIC_RELAXED);
    }
    change_live(area, -(int64_t)weight.bytes);
}

static void log_free(struct heap_area *area, struct counting_thread *thread, uint64_t address, uint64_t entry)
{
    if (thread)
        heap_rings_put(area, thread->row, address, entry);
    else
        __atomic_fetch_add(&area->lost_events, 1, __ATOMIC_RELAXED);
}

static void free_entry(const void *block, uint64_t entry, bool moved)
{
    struct heap_area *area = heap.area;
    uint32_t record = heap_blocks_record(entry);
    struct counting_thread *thread = own_thread();
    if (!entry || !area || record >= area->limits.records)
        return;
    if (thread && !begin(thread))
        thread = NULL;
    uncount(area, thread, moved ? 0 : (uint64_t)block, record, weigh(heap_blocks_size(entry)));
    if (heap.settings.log)
        log_free(area, thread, (uint64_t)block, 0);
    if (thread)
        leave(thread);
}

void heap_tracker_free_moved(const void *block, uint64_t entry)
{
    int saved = errno;
    free_entry(block, entry, true);
    errno = saved;
}

void heap_tracker_freed(const void *block)
{
    int saved = errno;
    uint64_t entry = heap_tracker_take(block);
    if (entry)
        free_entry(block, entry, false);
    errno = saved;
}

/* ---- mapped memory ---- */

bool heap_tracker_has_mapped(const void *memory)
{
    struct counting_thread *thread = own_thread();
    bool interrupted = thread && thread->row->busy;
    return heap.area && !interrupted && heap_ranges_holds((uint64_t)memory);
}

void heap_tracker_mapped(const void *memory, size_t bytes)
{
    int saved = errno;
    heap_tracker_countdown -= (int64_t)bytes;
    struct counting_thread *thread = heap_tracker_countdown < 0 ? begin_block(bytes) : NULL;
    if (thread) {
        uint64_t low = (uint64_t)memory;
        uint32_t record = count_block(thread, heap.area, low, bytes, HEAP_MMAP);
        if (record && !heap_ranges_add(low, low + bytes, record))
            __atomic_fetch_add(&heap.area->lost_blocks, 1, __ATOMIC_RELAXED);
        leave(thread);
    }
    errno = saved;
}

static void uncount_part(void *thread, const struct heap_range *part)
{
    struct heap_area *area = heap.area;
    struct weight weight = weigh(part->mapped_bytes);
    uint64_t bytes = part->high - part->low;
    if (!area || part->record >= area->limits.records)
        return;
    if (bytes != part->mapped_bytes)
        weight.bytes = (uint64_t)((double)weight.bytes * ((double)bytes / (double)part->mapped_bytes));
    weight.count = part->is_first ? weight.count : 0;
    uncount(area, thread, part->low, part->record, weight);
    if (heap.settings.log)
        log_free(area, thread, part->low, heap_blocks_entry(0, bytes));
}

/* In a signal handler that has interrupted the thread's own counting nothing is done: the table may be locked. */
void heap_tracker_unmapped(const void *memory, size_t bytes)
{
    int saved = errno;
    struct counting_thread *thread = own_thread();
    if (heap.area && (!thread || begin(thread))) {
        heap_ranges_remove((uint64_t)memory, (uint64_t)memory + bytes, uncount_part, thread);
        if (thread)
            leave(thread);
    }
    errno = saved;
}

/* ---- the whole ---- */

/* A forked child begins with the rows of its parent. */
static void start_native(struct heap_area *area)
{
    struct native_area *native = heap_area_native(area);
    if (!heap.inherited_pid)
        heap.walker = (struct native_walker){0}; /* what it knew of an earlier area is gone with that */
    if (!native)
        return;
    if (heap.inherited_pid)
        native_stack_after_fork(&heap.walker, native, heap.inherited_pid);
    else
        native_stack_init(&heap.walker, native);
    heap_native_init();
}

int heap_tracker_start(struct heap_area *area, const struct heap_settings *settings, uint8_t shift)
{
    if (heap.area || !heap_tree_open(&heap.tree, area))
        return -1;
    if (!heap.has_key && pthread_key_create(&heap.key, thread_ends) != 0)
        return -1;
    heap.has_key = true;
    heap_blocks_reset();
    heap_blocks_set_shift(shift);
    heap_ranges_reset();
    memset(heap_tracker_filter, 0, sizeof heap_tracker_filter);
    heap.settings = *settings;
    heap.shift = shift;
    heap.generation++;
    heap.never = false;
    heap_tracker_countdown = 0; /* it may have been told that nothing will ever be counted */
    area->sample_bytes = settings->sample_bytes;
    heap_tracker_counts_all = !settings->sample_bytes;
    heap_tracker_read_python(heap.interpreter);
    start_native(area);
    __atomic_store_n(&heap.area, area, __ATOMIC_SEQ_CST);
    return 0;
}

static bool is_anyone_busy(const struct heap_area *area)
{
    for (uint32_t i = 1; i < area->thread_count && i < HEAP_AREA_THREADS; i++)
        if (__atomic_load_n(&area->threads[i].busy, __ATOMIC_SEQ_CST))
            return true;
    return false;
}

void heap_tracker_stop(void)
{
    struct heap_area *area = __atomic_exchange_n(&heap.area, NULL, __ATOMIC_SEQ_CST);
    heap_tracker_counts_all = false;
    for (int tries = 0; area && tries < STOP_TRIES && is_anyone_busy(area); tries++)
        sched_yield();
    heap_tree_close(&heap.tree);
}

struct heap_area *heap_tracker_area(void)
{
    return heap.area;
}

int64_t heap_tracker_live_bytes(void)
{
    struct heap_area *area = heap.area;
    return area ? __atomic_load_n(&area->live_bytes, __ATOMIC_RELAXED) : 0;
}

const int64_t *heap_tracker_growth(void)
{
    return &growth_bytes;
}

void heap_tracker_read_python(struct stack_reader *interpreter)
{
    heap.interpreter = interpreter;
    if (interpreter)
        heap_stack_reader_init(&heap.reader, interpreter, &heap.tree);
    else
        heap.reader.interpreter = NULL;
}

void heap_tracker_await_native(void)
{
    const struct timespec wait = {.tv_nsec = 1000000};
    for (int ms = 0; heap.walker.area && ms < NATIVE_PATIENCE_MS && !native_stack_ready(&heap.walker); ms++)
        syscall(SYS_nanosleep, &wait, NULL);
}

void heap_tracker_program_ends(void)
{
    struct heap_area *area = heap.area;
    if (!area)
        return;
    struct heap_record *records = heap_area_records(area);
    for (uint32_t i = 1; i < area->record_count && i < area->limits.records; i++) {
        records[i].end_bytes = records[i].bytes - records[i].freed_bytes - records[i].other_bytes;
        records[i].end_count = records[i].count - records[i].freed_count - records[i].other_count;
    }
    area->private_bytes = heap_blocks_resident_bytes();
    __atomic_store_n(&area->end_ticks, heap_area_now(area), __ATOMIC_RELEASE);
}

void heap_tracker_rest(bool resting)
{
    __atomic_store_n(&heap.resting, resting, __ATOMIC_RELAXED);
}

void heap_tracker_never(void)
{
    heap.never = true;
    heap.open = NULL;
    heap_tracker_countdown = INT64_MAX;
}

void heap_tracker_after_fork(struct heap_area *(*open)(void))
{
    struct heap_area *inherited = heap.area;
    if (!inherited)
        return;
    heap.area = NULL;
    heap.generation++;
    heap.opening = 0;
    heap_tree_close(&heap.tree);
    heap_blocks_reset();
    heap_ranges_reset();
    memset(heap_tracker_filter, 0, sizeof heap_tracker_filter);
    heap.inherited_pid = open ? inherited->pid : 0;
    if (!heap.walker.area) /* the rows are read until there are own ones */
        own_memory_unmap(inherited, inherited->total_bytes);
    heap_tracker_countdown = 0;
    heap.open = open;
    if (!open)
        heap_tracker_never();
}
