#include "analyse/heap_move.h"

#include <stddef.h>

#include "base/sort.h"
#include "store/recording.h"

/* The numbers of a row that change over time. */
static const size_t numbers[] = {
    offsetof(struct heap_row, live_bytes),      offsetof(struct heap_row, live_count),
    offsetof(struct heap_row, total_bytes),     offsetof(struct heap_row, total_count),
    offsetof(struct heap_row, peak_bytes),      offsetof(struct heap_row, peak_count),
    offsetof(struct heap_row, temporary_bytes), offsetof(struct heap_row, temporary_count),
};

static bool is_same_stack(const struct heap_row *a, const struct heap_row *b)
{
    return a->thread == b->thread && a->node == b->node && a->allocator == b->allocator;
}

/* Unsigned numbers wrap round: what shrank comes out right when it is added up again. */
static void add(struct heap_row *row, const struct heap_row *other, bool subtract)
{
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        uint64_t *into = (uint64_t *)((char *)row + numbers[i]);
        uint64_t from = *(const uint64_t *)((const char *)other + numbers[i]);
        *into = subtract ? *into - from : *into + from;
    }
}

static int compare(const void *left, const void *right, void *context)
{
    (void)context;
    const struct heap_row *a = left, *b = right;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    if (a->allocator != b->allocator)
        return a->allocator < b->allocator ? -1 : 1;
    return a->at_ns < b->at_ns ? -1 : a->at_ns > b->at_ns;
}

int heap_move_rows(struct heap_row *rows, uint32_t count, const uint32_t *of_node, const bool *mark,
                   struct err *err)
{
    for (uint32_t i = count; i-- > 1;)
        if (is_same_stack(&rows[i], &rows[i - 1]))
            add(&rows[i], &rows[i - 1], true);
    for (uint32_t i = 0; i < count; i++) {
        if (mark && mark[i])
            rows[i].allocator = HEAP_FREE;
        rows[i].node = of_node[rows[i].node];
    }
    if (sort_rows(rows, count, sizeof *rows, compare, NULL, err) < 0)
        return -1;
    for (uint32_t i = 1; i < count; i++)
        if (is_same_stack(&rows[i], &rows[i - 1]))
            add(&rows[i], &rows[i - 1], false);
    return 0;
}
