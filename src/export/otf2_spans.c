#include "export/otf2_spans.h"

#include <stdlib.h>

#include "analyse/region_walk.h"
#include "base/err.h"
#include "store/mpi_calls.h"
#include "store/recording.h"

uint32_t otf2_spans_region(const struct recording *recording, uint32_t region)
{
    return recording->codes_count + region;
}

uint32_t otf2_spans_mpi(const struct recording *recording, uint32_t call)
{
    return otf2_spans_region(recording, recording->regions_count) + call;
}

int otf2_spans_init(struct otf2_spans *spans, const struct recording *recording, struct err *err)
{
    *spans = (struct otf2_spans){.recording = recording};
    if (mpi_groups_build(recording, &spans->groups, err) == 0 &&
        rank_clocks_build(recording, &spans->groups, &spans->clocks, err) == 0 &&
        region_walk_list(recording, 0, &spans->regions, &spans->region_count, err) == 0)
        return 0;
    otf2_spans_clear(spans);
    return -1;
}

void otf2_spans_clear(struct otf2_spans *spans)
{
    mpi_groups_clear(&spans->groups);
    rank_clocks_clear(&spans->clocks);
    free(spans->regions);
    free(spans->rows);
    *spans = (struct otf2_spans){0};
}

static int add(struct otf2_spans *spans, uint32_t thread, struct otf2_span span)
{
    uint32_t process = spans->recording->threads[thread].process;
    if (spans->count == spans->capacity) {
        uint32_t capacity = spans->capacity * 2 + 1024;
        struct otf2_span *rows = realloc(spans->rows, capacity * sizeof *rows);
        if (!rows)
            return -1;
        spans->rows = rows;
        spans->capacity = capacity;
    }
    int64_t begin_ns = rank_clocks_time(&spans->clocks, process, span.begin_ns);
    int64_t end_ns = rank_clocks_time(&spans->clocks, process, span.end_ns);
    span.begin_ns = begin_ns > 0 ? (uint64_t)begin_ns : 0;
    span.end_ns = end_ns > begin_ns ? (uint64_t)end_ns : span.begin_ns;
    span.order = spans->count;
    spans->rows[spans->count++] = span;
    return 0;
}

/* What was begun before is waited for in a call of its own, of which only the time is known. */
static uint32_t call_of(uint8_t call, uint64_t posted_ns, uint64_t time_ns)
{
    return posted_ns == time_ns ? call : MPI_CALL_WAIT;
}

static int gather(struct otf2_spans *spans, uint32_t thread)
{
    const struct recording *recording = spans->recording;
    int result = 0;
    uint32_t *at = &spans->next_call;
    for (; *at < recording->call_events_count && recording->call_events[*at].thread <= thread; ++*at) {
        const struct call_event_row *row = &recording->call_events[*at];
        if (row->thread == thread)
            result |= add(
                spans, thread,
                (struct otf2_span){row->start_ns, row->end_ns, .region = recording->nodes[row->node].code});
    }
    for (at = &spans->next_region; *at < spans->region_count && spans->regions[*at].thread <= thread; ++*at) {
        const struct region_span *row = &spans->regions[*at];
        if (row->thread == thread)
            result |= add(spans, thread,
                          (struct otf2_span){row->begin_ns, row->end_ns,
                                             .region = otf2_spans_region(recording, row->region)});
    }
    return result;
}

static int gather_mpi(struct otf2_spans *spans, uint32_t thread)
{
    const struct recording *recording = spans->recording;
    int result = 0;
    uint32_t *at = &spans->next_message;
    for (; *at < recording->messages_count && recording->messages[*at].thread <= thread; ++*at) {
        const struct message_row *row = &recording->messages[*at];
        uint32_t call = otf2_spans_mpi(recording, call_of(row->call, row->posted_ns, row->time_ns));
        if (row->thread == thread)
            result |= add(spans, thread,
                          (struct otf2_span){row->time_ns, row->time_ns + row->duration_ns, .region = call,
                                             .message = row});
    }
    for (at = &spans->next_collective;
         *at < recording->collectives_count && recording->collectives[*at].thread <= thread; ++*at) {
        const struct collective_row *row = &recording->collectives[*at];
        uint32_t call = otf2_spans_mpi(recording, call_of(row->call, row->posted_ns, row->time_ns));
        if (row->thread == thread)
            result |= add(spans, thread,
                          (struct otf2_span){row->time_ns, row->time_ns + row->duration_ns, .region = call,
                                             .collective = row});
    }
    return result;
}

static int by_begin(const void *a, const void *b)
{
    const struct otf2_span *left = a, *right = b;
    if (left->begin_ns != right->begin_ns)
        return left->begin_ns < right->begin_ns ? -1 : 1;
    if (left->end_ns != right->end_ns)
        return left->end_ns > right->end_ns ? -1 : 1;
    return left->order < right->order ? -1 : 1;
}

static bool is_mpi(const struct otf2_span *span)
{
    return span->message || span->collective;
}

/* Ends within the one that is open, and marks what one call of MPI did. `open` holds the numbers of those that are. */
static void nest(struct otf2_spans *spans, uint32_t *open)
{
    uint32_t depth = 0;
    for (uint32_t i = 0; i < spans->count; i++) {
        struct otf2_span *span = &spans->rows[i], *outer = NULL;
        while (depth && spans->rows[open[depth - 1]].end_ns <= span->begin_ns &&
               spans->rows[open[depth - 1]].begin_ns < span->begin_ns)
            depth--;
        if (depth)
            outer = &spans->rows[open[depth - 1]];
        if (outer && span->end_ns > outer->end_ns)
            span->end_ns = outer->end_ns;
        span->again = outer && is_mpi(span) && is_mpi(outer) && span->begin_ns == outer->begin_ns &&
                      span->end_ns == outer->end_ns;
        span->depth = depth;
        open[depth++] = i;
    }
}

int otf2_spans_read(struct otf2_spans *spans, uint32_t thread, struct err *err)
{
    spans->count = 0;
    int result = gather(spans, thread) | gather_mpi(spans, thread);
    uint32_t *open = calloc((size_t)spans->count + 1, sizeof *open);
    if (result < 0 || !open) {
        free(open);
        return err_set(err, "not enough memory for the calls of a thread");
    }
    if (spans->count)
        qsort(spans->rows, spans->count, sizeof *spans->rows, by_begin);
    nest(spans, open);
    free(open);
    return 0;
}
