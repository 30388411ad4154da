#include "store/memory_rows.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/sort.h"
#include "store/recording.h"

typedef int compare_rows(const void *a, const void *b);

#define COMPARE(left, right, field)                                                                          \
    if ((left)->field != (right)->field)                                                                     \
    return (left)->field < (right)->field ? -1 : 1

static int compare_series(const void *a, const void *b)
{
    const struct series_row *left = a, *right = b;
    COMPARE(left, right, counter);
    COMPARE(left, right, time_ns);
    COMPARE(left, right, value);
    return 0;
}

static int compare_heap(const void *a, const void *b)
{
    const struct heap_row *left = a, *right = b;
    COMPARE(left, right, thread);
    COMPARE(left, right, node);
    COMPARE(left, right, allocator);
    COMPARE(left, right, at_ns);
    COMPARE(left, right, total_count);
    COMPARE(left, right, live_count);
    return 0;
}

static int compare_sizes(const void *a, const void *b)
{
    const struct heap_size_row *left = a, *right = b;
    COMPARE(left, right, process);
    COMPARE(left, right, floor_bytes);
    return 0;
}

static int compare_lines(const void *a, const void *b)
{
    const struct line_memory_row *left = a, *right = b;
    COMPARE(left, right, thread);
    COMPARE(left, right, code);
    COMPARE(left, right, line);
    return 0;
}

static void sort(void *rows, uint32_t count, size_t row_bytes, compare_rows *compare)
{
    const char *row = rows;
    for (uint32_t i = 1; i < count; i++, row += row_bytes) {
        if (compare(row, row + row_bytes) > 0) {
            qsort(rows, count, row_bytes, compare);
            return;
        }
    }
}

static void add_up_sizes(struct recording *recording)
{
    struct heap_size_row *rows = recording->heap_sizes;
    uint32_t last = 0, count = recording->heap_sizes_count;
    sort(rows, count, sizeof *rows, compare_sizes);
    for (uint32_t i = 1; i < count; i++) {
        if (compare_sizes(&rows[last], &rows[i]) != 0) {
            rows[++last] = rows[i];
            continue;
        }
        rows[last].count += rows[i].count;
        rows[last].total_bytes += rows[i].total_bytes;
    }
    recording->heap_sizes_count = count ? last + 1 : 0;
}

/* Growth is added as unsigned numbers: a hostile file may make it wrap, but not overflow. */
static void add_line(struct line_memory_row *sum, const struct line_memory_row *row)
{
    sum->hits += row->hits;
    sum->heap_growth_bytes = (int64_t)((uint64_t)sum->heap_growth_bytes + (uint64_t)row->heap_growth_bytes);
    sum->rss_growth_bytes = (int64_t)((uint64_t)sum->rss_growth_bytes + (uint64_t)row->rss_growth_bytes);
    if (row->heap_bytes > sum->heap_bytes)
        sum->heap_bytes = row->heap_bytes;
    if (row->rss_bytes > sum->rss_bytes)
        sum->rss_bytes = row->rss_bytes;
}

static void add_up_lines(struct recording *recording)
{
    struct line_memory_row *rows = recording->line_memory;
    uint32_t last = 0, count = recording->line_memory_count;
    sort(rows, count, sizeof *rows, compare_lines);
    for (uint32_t i = 1; i < count; i++) {
        if (compare_lines(&rows[last], &rows[i]) == 0)
            add_line(&rows[last], &rows[i]);
        else
            rows[++last] = rows[i];
    }
    recording->line_memory_count = count ? last + 1 : 0;
}

/* ---- allocations ---- */

/* Where the rising run that begins at `start` ends. */
static uint32_t run_end(const struct allocation_row *rows, uint32_t start, uint32_t count)
{
    uint32_t end = start + 1;
    while (end < count && rows[end - 1].time_ns <= rows[end].time_ns)
        end++;
    return end;
}

static void merge_runs(const struct allocation_row *from, uint32_t start, uint32_t middle, uint32_t end,
                       struct allocation_row *to)
{
    uint32_t left = start, right = middle;
    for (uint32_t i = start; i < end; i++) {
        bool take_left = left < middle && (right == end || from[left].time_ns <= from[right].time_ns);
        to[i] = from[take_left ? left++ : right++];
    }
}

/* One pass over all rows: pairs of neighbouring runs become one. True when a single one is left. */
static bool merge_pass(const struct allocation_row *from, uint32_t count, struct allocation_row *to)
{
    uint32_t start = 0, merged = 0;
    while (start < count) {
        uint32_t middle = run_end(from, start, count);
        uint32_t end = middle < count ? run_end(from, middle, count) : middle;
        merge_runs(from, start, middle, end, to);
        start = end;
        merged++;
    }
    return merged <= 1;
}

/* Stable, since a block may be freed in the nanosecond in which it was made. A file holds each thread's rows in
 * order, so there are few runs. */
static int order_allocations(struct recording *recording, struct err *err)
{
    uint32_t count = recording->allocations_count;
    if (count == 0 || run_end(recording->allocations, 0, count) == count)
        return 0;
    struct allocation_row *other = malloc(count * sizeof *other);
    if (!other)
        return err_set(err, "out of memory while sorting %u allocations", count);
    bool done = false;
    while (!done) {
        done = merge_pass(recording->allocations, count, other);
        struct allocation_row *merged = other;
        other = recording->allocations;
        recording->allocations = merged;
        recording->allocations_capacity = count;
    }
    free(other);
    return 0;
}

static int compare_events(const void *a, const void *b, void *context)
{
    (void)context;
    const struct region_event_row *left = a, *right = b;
    COMPARE(left, right, thread);
    COMPARE(left, right, time_ns);
    return 0;
}

static int compare_marks(const void *a, const void *b, void *context)
{
    (void)context;
    const struct mark_row *left = a, *right = b;
    COMPARE(left, right, thread);
    COMPARE(left, right, time_ns);
    return 0;
}

int memory_rows_order(struct recording *recording, struct err *err)
{
    sort(recording->series, recording->series_count, sizeof *recording->series, compare_series);
    sort(recording->heap, recording->heap_count, sizeof *recording->heap, compare_heap);
    add_up_sizes(recording);
    add_up_lines(recording);
    /* stable, since a region may begin and end in one nanosecond */
    if (sort_rising(recording->region_events, recording->region_events_count,
                    sizeof *recording->region_events, compare_events, err) < 0 ||
        sort_rising(recording->marks, recording->marks_count, sizeof *recording->marks, compare_marks, err) <
            0)
        return -1;
    return order_allocations(recording, err);
}
