#include "store/call_events.h"

#include <stdlib.h>

#include "base/err.h"
#include "store/counting_sort.h"
#include "store/recording.h"

/* Of two calls that begin together the longer is the caller, and of equal ones that with the smaller node, which a
 * caller's always is. A call comes before its lines. */
static int compare(const void *a, const void *b)
{
    const struct call_event_row *left = a, *right = b;
    if (left->thread != right->thread)
        return left->thread < right->thread ? -1 : 1;
    if (left->start_ns != right->start_ns)
        return left->start_ns < right->start_ns ? -1 : 1;
    if (left->end_ns != right->end_ns)
        return left->end_ns > right->end_ns ? -1 : 1;
    if (left->node != right->node)
        return left->node < right->node ? -1 : 1;
    return left->line < right->line ? -1 : left->line > right->line;
}

static bool are_sorted(const struct call_event_row *rows, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++)
        if (compare(&rows[i - 1], &rows[i]) > 0)
            return false;
    return true;
}

/* Room for one thread's calls while they are placed. */
struct placing {
    uint32_t *sizes; /* of each call: itself and all below it */
    uint32_t *stack;
};

static void measure(const struct call_event_row *rows, uint32_t count, struct placing *placing)
{
    uint32_t depth = 0;
    for (uint32_t i = 0; i < count; i++) {
        placing->sizes[i] = 1;
        while (depth && compare(&rows[placing->stack[depth - 1]], &rows[i]) > 0)
            placing->sizes[i] += placing->sizes[placing->stack[--depth]];
        placing->stack[depth++] = i;
    }
}

/* A call and those below it fill the same places before and after; it moves from their end to their beginning, and they
 * one further for each call around them. */
static void place(const struct call_event_row *rows, uint32_t count, struct placing *placing,
                  struct call_event_row *placed)
{
    uint32_t depth = 0;
    for (uint32_t i = count; i-- > 0;) {
        while (depth && placing->stack[depth - 1] > i)
            depth--;
        uint32_t first = i - (placing->sizes[i] - 1);
        placed[first + depth] = rows[i];
        placing->stack[depth++] = first;
    }
}

static uint32_t end_of_thread(const struct call_event_row *rows, uint32_t first, uint32_t count)
{
    uint32_t end = first;
    while (end < count && rows[end].thread == rows[first].thread)
        end++;
    return end;
}

/* By thread; a thread's rows stay in their order. */
static bool group(const struct call_event_row *rows, uint32_t count, uint32_t threads,
                  struct call_event_row *grouped)
{
    uint32_t *places = malloc(((size_t)threads + 1) * sizeof *places);
    if (places)
        COUNTING_SORT(rows, grouped, count, places, threads, thread);
    free(places);
    return places != NULL;
}

static bool arrange(struct recording *recording, struct call_event_row *spare, struct placing *placing)
{
    uint32_t count = recording->call_events_count;
    if (!spare || !placing->sizes || !placing->stack ||
        !group(recording->call_events, count, recording->threads_count, spare))
        return false;
    for (uint32_t first = 0, end; first < count; first = end) {
        end = end_of_thread(spare, first, count);
        measure(spare + first, end - first, placing);
        place(spare + first, end - first, placing, recording->call_events + first);
    }
    return true;
}

int call_events_order(struct recording *recording, struct err *err)
{
    uint32_t count = recording->call_events_count;
    if (are_sorted(recording->call_events, count))
        return 0;
    struct call_event_row *spare = malloc((size_t)count * sizeof *spare);
    struct placing placing = {malloc((size_t)count * sizeof *placing.sizes),
                              malloc((size_t)count * sizeof *placing.stack)};
    bool arranged = arrange(recording, spare, &placing);
    free(spare);
    free(placing.sizes);
    free(placing.stack);
    if (!arranged)
        return err_set(err, "out of memory while sorting %u calls", count);
    if (!are_sorted(recording->call_events, count))
        qsort(recording->call_events, count, sizeof *recording->call_events, compare);
    return 0;
}

static uint32_t first_of(const struct recording *recording, uint64_t thread)
{
    uint32_t low = 0, high = recording->call_events_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (recording->call_events[middle].thread < thread)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void call_events_of(const struct recording *recording, uint32_t thread, uint32_t *first, uint32_t *end)
{
    *first = first_of(recording, thread);
    *end = first_of(recording, (uint64_t)thread + 1);
}

uint32_t call_events_lines(const struct recording *recording)
{
    uint32_t lines = 0;
    for (uint32_t i = 0; i < recording->call_events_count; i++)
        lines += recording->call_events[i].line != 0;
    return lines;
}
