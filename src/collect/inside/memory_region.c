#include "collect/inside/memory_region.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/err.h"
#include "collect/agent/heap_area.h"
#include "collect/agent/own_memory.h"
#include "collect/inside/heap_access.h"
#include "collect/inside/interpreter.h"
#include "collect/recorder/snapshot.h"

#define AREA_BYTES ((uint64_t)512 << 20) /* reserved, not used, until stacks fill it */

static struct {
    struct memory_region *first; /* of those that go on */
    struct heap_area *area;
    bool ours;              /* the counting began with the first region: it ends with the last */
    struct memory_peak run; /* where it did not: the peak that the recorder is to find again */
    pid_t pid;
} counting;

/* ---- copies of the area ---- */

static void unmap(struct heap_area *area)
{
    if (area)
        own_memory_unmap(area, area->total_bytes);
}

static uint32_t least(uint32_t count, uint32_t limit)
{
    return count < limit ? count : limit;
}

static uint32_t record_count(const struct heap_area *area)
{
    return least(__atomic_load_n(&area->record_count, __ATOMIC_ACQUIRE), area->limits.records);
}

static void copy_codes(struct code_rows *copy, const struct code_rows *codes)
{
    memcpy(copy, codes, offsetof(struct code_rows, index));
    copy->count = least(codes->count, CODE_ROWS_MAX);
    memcpy(copy->rows, codes->rows, copy->count * sizeof *copy->rows);
    memcpy(copy->text, codes->text, least(codes->text_used, CODE_ROWS_TEXT_BYTES));
}

/* Of the tables no more than is used; the reader needs no index. */
static struct heap_area *copy_area(struct heap_area *area)
{
    struct heap_area *copy = own_memory_map(area->total_bytes);
    if (!copy)
        return NULL;
    uint32_t records = record_count(area), nodes = least(area->node_count, area->limits.nodes);
    uint32_t threads = least(area->thread_count, HEAP_AREA_THREADS);
    memcpy(copy, area, offsetof(struct heap_area, threads));
    copy->record_count = records;
    memcpy(copy->threads, area->threads, threads * sizeof *copy->threads);
    memcpy(heap_area_nodes(copy), heap_area_nodes(area), nodes * sizeof(struct heap_node));
    memcpy(heap_area_records(copy), heap_area_records(area), records * sizeof(struct heap_record));
    copy_codes(&copy->codes, &area->codes);
    return copy;
}

/* ---- peaks ---- */

static uint64_t live_bytes(const struct heap_record *record)
{
    return record->bytes - record->freed_bytes - record->other_bytes;
}

static uint64_t live_count(const struct heap_record *record)
{
    return record->count - record->freed_count - record->other_count;
}

static void clear_peak(struct memory_peak *peak)
{
    free(peak->records);
    *peak = (struct memory_peak){0};
}

/* Keeps the highest point since the last time, if it is the highest for this one. */
static void keep_peak(struct memory_peak *peak)
{
    struct heap_area *area = counting.area;
    uint32_t count = record_count(area);
    void *records =
        area->peak_bytes > peak->bytes ? realloc(peak->records, (count + 1) * sizeof *peak->records) : NULL;
    if (!records)
        return;
    *peak = (struct memory_peak){area->peak_bytes, area->peak_ticks, records, count};
    for (uint32_t i = 1; i < count; i++) {
        const struct heap_record *record = &heap_area_records(area)[i];
        bool saved = record->epoch == area->epoch;
        peak->records[i].bytes = saved ? record->peak_bytes : live_bytes(record);
        peak->records[i].count = saved ? record->peak_count : live_count(record);
    }
}

/* A new beginning: what is alive now is the highest point so far. */
static void keep_peaks(void)
{
    struct heap_area *area = counting.area;
    for (struct memory_region *region = counting.first; region; region = region->next)
        keep_peak(&region->peak);
    if (!counting.ours)
        keep_peak(&counting.run);
    int64_t live = __atomic_load_n(&area->live_bytes, __ATOMIC_RELAXED);
    __atomic_fetch_add(&area->epoch, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&area->peak_bytes, live > 0 ? (uint64_t)live : 0, __ATOMIC_RELAXED);
}

static void put_peak(struct heap_area *area, const struct memory_peak *peak)
{
    area->peak_bytes = peak->bytes;
    area->peak_ticks = peak->ticks;
    for (uint32_t i = 1; i < record_count(area); i++) {
        struct heap_record *record = &heap_area_records(area)[i];
        record->peak_bytes = i < peak->record_count ? peak->records[i].bytes : 0;
        record->peak_count = i < peak->record_count ? peak->records[i].count : 0;
        record->epoch = area->epoch;
    }
}

/* ---- what came of a region ---- */

static uint64_t above(uint64_t value, uint64_t base)
{
    return value > base ? value - base : 0;
}

static void subtract_record(struct heap_record *record, const struct heap_record *before)
{
    uint64_t grown_bytes = above(live_bytes(record), live_bytes(before));
    uint64_t grown_count = above(live_count(record), live_count(before));
    record->peak_bytes = above(record->peak_bytes, live_bytes(before));
    record->peak_count = above(record->peak_count, live_count(before));
    record->temporary_bytes -= before->temporary_bytes;
    record->temporary_count -= before->temporary_count;
    record->bytes -= before->bytes;
    record->count -= before->count;
    record->freed_bytes = above(record->bytes, grown_bytes);
    record->freed_count = above(record->count, grown_count);
    record->other_bytes = record->other_count = 0;
}

static void subtract(struct heap_area *area, struct heap_area *before)
{
    for (uint32_t i = 1; i < record_count(before); i++)
        subtract_record(&heap_area_records(area)[i], &heap_area_records(before)[i]);
    for (uint32_t thread = 1; thread < least(before->thread_count, HEAP_AREA_THREADS); thread++)
        for (int size = 0; size < HEAP_AREA_SIZES; size++) {
            area->threads[thread].sizes[size].count -= before->threads[thread].sizes[size].count;
            area->threads[thread].sizes[size].bytes -= before->threads[thread].sizes[size].bytes;
        }
    area->peak_bytes = above(area->peak_bytes, (uint64_t)before->live_bytes);
    area->live_bytes -= before->live_bytes;
    area->start_ticks = before->start_ticks;
    area->start_ns = before->start_ns;
}

static void add_record(struct heap_record *sum, const struct heap_record *record)
{
    sum->bytes += record->bytes;
    sum->count += record->count;
    sum->freed_bytes += record->freed_bytes;
    sum->freed_count += record->freed_count;
    sum->other_bytes += record->other_bytes;
    sum->other_count += record->other_count;
    sum->temporary_bytes += record->temporary_bytes;
    sum->temporary_count += record->temporary_count;
    sum->peak_bytes += record->peak_bytes;
    sum->peak_count += record->peak_count;
}

/* Native frames are nobody's to name here: records of one Python stack become one. */
static void leave_native_out(struct heap_area *area)
{
    struct heap_node *nodes = heap_area_nodes(area);
    struct heap_record *records = heap_area_records(area);
    for (uint32_t i = 1; area->limits.native && i < record_count(area); i++) {
        const struct heap_node *pair = &nodes[least(records[i].node, area->limits.nodes - 1)];
        if (pair->kind != HEAP_NODE_PAIR)
            continue;
        struct heap_node *python = &nodes[least(pair->parent, area->limits.nodes - 1)];
        uint32_t same = python->record;
        while (same && records[same].allocator != records[i].allocator)
            same = records[same].next;
        if (same) {
            add_record(&records[same], &records[i]);
            records[i] = (struct heap_record){0};
            continue;
        }
        records[i].node = (uint32_t)(python - nodes);
        records[i].next = python->record;
        python->record = i;
    }
}

static void add_up(struct heap_area *area, struct memory_totals *totals)
{
    *totals = (struct memory_totals){.peak_bytes = area->peak_bytes};
    for (uint32_t i = 1; i < record_count(area); i++) {
        const struct heap_record *record = &heap_area_records(area)[i];
        totals->bytes += record->bytes;
        totals->count += record->count;
        totals->live_bytes += live_bytes(record);
        totals->live_count += live_count(record);
    }
    totals->count /= HEAP_AREA_COUNT_UNIT;
    totals->live_count /= HEAP_AREA_COUNT_UNIT;
}

/* ---- beginning and ending ---- */

static int begin_counting(bool python_allocators, char *why, size_t why_bytes)
{
    struct heap_area_limits limits;
    const struct heap_settings settings = {.stacks = true, .python_allocators = python_allocators};
    struct heap_area *area = heap_area_limits_within(AREA_BYTES, false, false, &limits)
                                 ? own_memory_map(heap_area_bytes(&limits))
                                 : NULL;
    if (!area) {
        snprintf(why, why_bytes, "not enough address space to count allocations (512 MiB are reserved)");
        return -1;
    }
    heap_area_format(area, &limits, (uint64_t)getpid(), interpreter.version);
    if (heap_access_begin(area, &settings, why, why_bytes) < 0) {
        unmap(area);
        return -1;
    }
    counting.area = area;
    counting.ours = true;
    return 0;
}

static int find_counting(bool python_allocators, char *why, size_t why_bytes)
{
    if (counting.pid != getpid()) /* never yet, or in the parent of a fork */
        memset(&counting, 0, sizeof counting);
    counting.pid = getpid();
    if (counting.first)
        return 0;
    counting.area = heap_access_open(why, why_bytes)->area();
    counting.ours = false;
    return counting.area ? 0 : begin_counting(python_allocators, why, why_bytes);
}

static void end_counting(void)
{
    if (!counting.ours) {
        keep_peaks();
        put_peak(counting.area, &counting.run);
        clear_peak(&counting.run);
        return;
    }
    heap_access_end();
    unmap(counting.area);
    counting.area = NULL;
}

static int begin(struct memory_region *region, bool python_allocators, char *why, size_t why_bytes)
{
    *region = (struct memory_region){.pid = getpid()};
    if (find_counting(python_allocators, why, why_bytes) < 0)
        return -1;
    keep_peaks();
    region->before = copy_area(counting.area);
    if (!region->before) {
        snprintf(why, why_bytes, "not enough address space to count allocations");
        if (!counting.first)
            end_counting();
        return -1;
    }
    struct clock_pair now = clock_read_pair(counting.area->ns_per_tick == 0);
    region->before->start_ticks = now.ticks;
    region->before->start_ns = now.ns;
    region->next = counting.first;
    counting.first = region;
    return 0;
}

int memory_region_begin(struct memory_region *region, bool python_allocators, char *why, size_t why_bytes)
{
    const struct heap *heap = heap_access_open(why, why_bytes);
    if (!heap || interpreter_init(why, why_bytes) < 0)
        return -1;
    heap->pass_over(true);
    int result = begin(region, python_allocators, why, why_bytes);
    heap->pass_over(false);
    return result;
}

/* Out of the list; the counting ends with the last one. */
static void leave(struct memory_region *region)
{
    struct memory_region **place = &counting.first;
    while (*place && *place != region)
        place = &(*place)->next;
    if (*place)
        *place = region->next;
    if (!counting.first)
        end_counting();
}

bool memory_region_is_parents(const struct memory_region *region)
{
    return region->before && region->pid != getpid();
}

void memory_region_abandon(struct memory_region *region)
{
    if (region->before && !memory_region_is_parents(region))
        leave(region);
    unmap(region->before);
    clear_peak(&region->peak);
    *region = (struct memory_region){0};
}

static int end(struct memory_region *region, struct memory_totals *totals, struct bytes *out, struct err *err)
{
    *totals = (struct memory_totals){0};
    keep_peaks();
    struct heap_area *area = copy_area(counting.area);
    if (area) {
        put_peak(area, &region->peak);
        subtract(area, region->before);
        add_up(area, totals);
        leave_native_out(area);
    }
    memory_region_abandon(region);
    int result = area ? snapshot_write_heap(area, out, err) : err_set(err, "out of memory");
    unmap(area);
    return result;
}

int memory_region_end(struct memory_region *region, struct memory_totals *totals, struct bytes *out,
                      struct err *err)
{
    const struct heap *heap = heap_access_open(NULL, 0);
    heap->pass_over(true);
    int result = end(region, totals, out, err);
    heap->pass_over(false);
    return result;
}
