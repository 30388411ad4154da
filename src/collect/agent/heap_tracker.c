#include "collect/agent/heap_tracker.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "collect/agent/heap_area.h"
#include "collect/agent/heap_blocks.h"
#include "collect/agent/heap_counting.h"
#include "collect/agent/heap_native.h"
#include "collect/agent/heap_ranges.h"
#include "collect/agent/heap_rings.h"
#include "collect/agent/heap_stack.h"
#include "collect/agent/heap_thread.h"
#include "collect/agent/heap_tree.h"

#define LIKELY(condition)   __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

HEAP_TRACKER_TLS int64_t heap_tracker_countdown;
HEAP_TRACKER_TLS uint32_t heap_tracker_nested;
uint8_t heap_tracker_filter[HEAP_TRACKER_FILTER];
bool heap_tracker_counts_all;

static HEAP_TRACKER_TLS int64_t growth_bytes;

/* ---- records ---- */

/* What a block stands for. */
struct weight {
    uint64_t bytes, count;
};

/* A block of s bytes is sampled with the probability 1 - exp(-s / R), and stands for that many of its like. */
static inline struct weight weigh(uint64_t bytes)
{
    if (LIKELY(!heap_counting.settings.sample_bytes))
        return (struct weight){bytes, HEAP_AREA_COUNT_UNIT};
    double chance = -expm1(-(double)bytes / (double)heap_counting.settings.sample_bytes);
    return (struct weight){(uint64_t)((double)bytes / chance + 0.5),
                           (uint64_t)(HEAP_AREA_COUNT_UNIT / chance + 0.5)};
}

/* Before a record changes for the first time since the peak: what was alive then. */
static inline void save_peak(struct heap_record *record, uint64_t epoch)
{
    if (LIKELY(record->epoch == epoch))
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
    if (bytes > 0 && UNLIKELY(live > (int64_t)__atomic_load_n(&area->peak_bytes, __ATOMIC_RELAXED)))
        raise_peak(area, (uint64_t)live);
}

static inline uint32_t find_pair(struct heap_thread *thread, uint32_t python)
{
    uint32_t native =
        heap_native_node(&thread->native, &heap_counting.walker, &heap_counting.tree, thread->root);
    if (thread->python == python && thread->native_node == native && thread->pair)
        return thread->pair;
    thread->python = python;
    thread->native_node = native;
    return thread->pair = heap_tree_pair(&heap_counting.tree, python, native);
}

static inline uint32_t find_node(struct heap_thread *thread)
{
    uint32_t python = heap_stack_node(&thread->stack, &heap_counting.reader, thread->root);
    bool natives = heap_counting.walker.area && heap_counting.reader.interpreter;
    return UNLIKELY(natives) ? find_pair(thread, python) : python;
}

static inline uint32_t find_record(struct heap_thread *thread, enum heap_allocator allocator)
{
    uint32_t node = LIKELY(heap_counting.settings.stacks) ? find_node(thread) : thread->root;
    if (LIKELY(thread->node == node && thread->allocator == allocator))
        return thread->record;
    uint32_t known = heap_counting.area->record_count;
    thread->record = heap_tree_record(&heap_counting.tree, node, allocator);
    if (heap_counting.area->record_count > known && thread->name_tries < HEAP_THREAD_NAME_TRIES)
        heap_thread_ask_name(thread);
    thread->node = thread->record ? node : 0;
    thread->allocator = allocator;
    return thread->record;
}

static inline void count_size(struct heap_thread *thread, uint64_t bytes, struct weight weight)
{
    unsigned bits = LIKELY(bytes) ? 64 - (unsigned)__builtin_clzll(bytes) : 0;
    struct heap_size *size = &thread->row->sizes[bits < HEAP_AREA_SIZES ? bits : HEAP_AREA_SIZES - 1];
    size->count += weight.count;
    size->bytes += weight.bytes;
}

/* The record that the block now belongs to; 0 when it is not counted. */
static inline uint32_t count_block(struct heap_thread *thread, struct heap_area *area, uint64_t address,
                                   uint64_t bytes, enum heap_allocator allocator)
{
    uint32_t number = find_record(thread, allocator);
    if (UNLIKELY(!number))
        return 0;
    struct heap_record *record = &heap_area_records(area)[number];
    struct weight weight = weigh(bytes);
    save_peak(record, __atomic_load_n(&area->epoch, __ATOMIC_RELAXED));
    record->bytes += weight.bytes;
    record->count += weight.count;
    change_live(area, (int64_t)weight.bytes);
    count_size(thread, bytes, weight);
    if (UNLIKELY(heap_counting.settings.log))
        heap_rings_put(area, thread->row, address, heap_blocks_entry(number, bytes));
    thread->last_block = address;
    thread->last_countdown = heap_tracker_countdown;
    return number;
}

/* Until the next block that counts. */
static inline void rearm(struct heap_thread *thread)
{
    heap_tracker_countdown =
        LIKELY(!heap_counting.settings.sample_bytes) ? -1 : heap_thread_draw_countdown(thread);
}

/* False when a signal handler has interrupted the thread's own counting. */
static inline bool begin(struct heap_thread *thread)
{
    if (UNLIKELY(thread->row->busy))
        return false;
    __atomic_store_n(&thread->row->busy, 1, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return true;
}

static inline void leave(struct heap_thread *thread)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    __atomic_store_n(&thread->row->busy, 0, __ATOMIC_RELEASE);
}

/* Begins the counting of something new; NULL when it is not to be counted. */
static inline struct heap_thread *begin_block(uint64_t bytes)
{
    struct heap_thread *thread = heap_thread_own();
    if (UNLIKELY(heap_tracker_nested))
        return NULL;
    if (UNLIKELY(!thread)) {
        thread = heap_thread_enter();
        if (!thread ||
            (heap_counting.settings.sample_bytes && (heap_tracker_countdown -= (int64_t)bytes) >= 0))
            return NULL;
    }
    if (UNLIKELY(__atomic_load_n(&heap_counting.resting, __ATOMIC_RELAXED))) {
        rearm(thread);
        return NULL;
    }
    if (UNLIKELY(!begin(thread))) {
        __atomic_fetch_add(&heap_counting.area->missed, 1, __ATOMIC_RELAXED);
        return NULL;
    }
    rearm(thread);
    return thread;
}

static void remember(struct heap_area *area, const void *block, uint64_t entry)
{
    if (UNLIKELY(!heap_blocks_put((uint64_t)block, entry)))
        __atomic_fetch_add(&area->lost_blocks, 1, __ATOMIC_RELAXED);
    else if (UNLIKELY(!heap_tracker_counts_all) && *heap_tracker_filtered(block) < UINT8_MAX)
        __atomic_fetch_add(heap_tracker_filtered(block), 1, __ATOMIC_RELAXED);
}

void heap_tracker_allocated(const void *block, size_t bytes, enum heap_allocator allocator)
{
    struct heap_thread *thread = block ? begin_block(bytes) : NULL;
    if (UNLIKELY(!thread))
        return;
    int saved = *thread->error;
    struct heap_area *area = heap_counting.area;
    uint32_t record = count_block(thread, area, (uint64_t)block, bytes, allocator);
    if (LIKELY(record))
        remember(area, block, heap_blocks_entry(record, bytes));
    *thread->error = saved;
    leave(thread);
}

/* ---- frees ---- */

static void forget_filtered(const void *block)
{
    uint8_t *count = heap_tracker_filtered(block);
    if (UNLIKELY(!heap_tracker_counts_all) && *count < UINT8_MAX) /* one that was full once stays so */
        __atomic_fetch_sub(count, 1, __ATOMIC_RELAXED);
}

uint64_t heap_tracker_take(const void *block)
{
    uint64_t entry = heap_counting.area && block ? heap_blocks_take((uint64_t)block) : 0;
    if (entry)
        forget_filtered(block);
    return entry;
}

void heap_tracker_put_back(const void *block, uint64_t entry)
{
    if (entry && heap_counting.area)
        remember(heap_counting.area, block, entry);
}

static bool is_temporary(const struct heap_thread *thread, uint64_t address)
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
static inline void uncount(struct heap_area *area, struct heap_thread *thread, uint64_t address,
                           uint32_t number, struct weight weight)
{
    struct heap_record *record = &heap_area_records(area)[number];
    save_peak(record, __atomic_load_n(&area->epoch, __ATOMIC_RELAXED));
    if (LIKELY(thread && record->thread == thread->number)) {
        uncount_own(record, weight, is_temporary(thread, address));
    } else {
        __atomic_fetch_add(&record->other_bytes, weight.bytes, __ATOMIC_RELAXED);
        __atomic_fetch_add(&record->other_count, weight.count, __ATOMIC_RELAXED);
    }
    change_live(area, -(int64_t)weight.bytes);
}

static void log_free(struct heap_area *area, struct heap_thread *thread, uint64_t address, uint64_t entry)
{
    if (thread)
        heap_rings_put(area, thread->row, address, entry);
    else
        __atomic_fetch_add(&area->lost_events, 1, __ATOMIC_RELAXED);
}

static inline __attribute__((always_inline)) void free_entry(const void *block, uint64_t entry, bool moved)
{
    struct heap_area *area = heap_counting.area;
    uint32_t record = heap_blocks_record(entry);
    struct heap_thread *thread = heap_thread_own();
    if (UNLIKELY(!entry || !area || record >= area->limits.records))
        return;
    if (LIKELY(thread) && UNLIKELY(!begin(thread)))
        thread = NULL;
    uncount(area, thread, moved ? 0 : (uint64_t)block, record, weigh(heap_blocks_size(entry)));
    if (UNLIKELY(heap_counting.settings.log))
        log_free(area, thread, (uint64_t)block, heap_blocks_entry(0, heap_blocks_size(entry)));
    if (LIKELY(thread))
        leave(thread);
}

void heap_tracker_free_moved(const void *block, uint64_t entry)
{
    free_entry(block, entry, true);
}

void heap_tracker_freed(const void *block)
{
    uint64_t entry = heap_tracker_take(block);
    if (entry)
        free_entry(block, entry, false);
}

/* ---- mapped memory ---- */

bool heap_tracker_has_mapped(const void *memory)
{
    struct heap_thread *thread = heap_thread_own();
    bool interrupted = thread && thread->row->busy;
    return heap_counting.area && !interrupted && heap_ranges_holds((uint64_t)memory);
}

void heap_tracker_mapped(const void *memory, size_t bytes)
{
    int saved = errno;
    heap_tracker_countdown -= (int64_t)bytes;
    struct heap_thread *thread = heap_tracker_countdown < 0 ? begin_block(bytes) : NULL;
    if (thread) {
        uint64_t low = (uint64_t)memory;
        uint32_t record = count_block(thread, heap_counting.area, low, bytes, HEAP_MMAP);
        if (record && !heap_ranges_add(low, low + bytes, record))
            __atomic_fetch_add(&heap_counting.area->lost_blocks, 1, __ATOMIC_RELAXED);
        leave(thread);
    }
    errno = saved;
}

static void uncount_part(void *thread, const struct heap_range *part)
{
    struct heap_area *area = heap_counting.area;
    struct weight weight = weigh(part->mapped_bytes);
    uint64_t bytes = part->high - part->low;
    if (!area || part->record >= area->limits.records)
        return;
    if (bytes != part->mapped_bytes)
        weight.bytes = (uint64_t)((double)weight.bytes * ((double)bytes / (double)part->mapped_bytes));
    weight.count = part->is_first ? weight.count : 0;
    uncount(area, thread, part->low, part->record, weight);
    if (heap_counting.settings.log)
        log_free(area, thread, part->low, heap_blocks_entry(HEAP_AREA_PART, bytes));
}

/* In a signal handler that has interrupted the thread's own counting nothing is done: the table may be locked. */
void heap_tracker_unmapped(const void *memory, size_t bytes)
{
    int saved = errno;
    struct heap_thread *thread = heap_thread_own();
    if (heap_counting.area && (!thread || begin(thread))) {
        heap_ranges_remove((uint64_t)memory, (uint64_t)memory + bytes, uncount_part, thread);
        if (thread)
            leave(thread);
    }
    errno = saved;
}

const int64_t *heap_tracker_growth(void)
{
    return &growth_bytes;
}

void heap_tracker_forget(void)
{
    heap_blocks_reset();
    heap_ranges_reset();
    memset(heap_tracker_filter, 0, sizeof heap_tracker_filter);
}
