#include "analyse/call_weights.h"

#include <stdlib.h>

#include "base/err.h"
#include "store/call_events.h"
#include "store/recording.h"

struct summing {
    const struct recording *recording;
    const struct selection *selection;
    uint64_t *self_ns, *calls; /* by node, of one thread */
    uint32_t *open;            /* rows of the calls around, outermost first */
    uint32_t depth;
};

bool call_weights_are_meant(const struct recording *recording, const struct selection *selection)
{
    return recording->call_events_count && selection && (selection->begin_ns || selection->end_ns);
}

static uint64_t clipped_ns(const struct selection *selection, const struct call_event_row *event)
{
    uint64_t begin_ns = event->start_ns > selection->begin_ns ? event->start_ns : selection->begin_ns;
    uint64_t end_ns =
        selection->end_ns && selection->end_ns < event->end_ns ? selection->end_ns : event->end_ns;
    return end_ns > begin_ns ? end_ns - begin_ns : 0;
}

/* A caller, which comes first, has more time than those that it calls, one after the other. */
static void add(struct summing *summing, uint32_t i)
{
    const struct call_event_row *events = summing->recording->call_events, *event = &events[i];
    uint64_t own_ns = clipped_ns(summing->selection, event);
    if (event->line || (!own_ns && event->end_ns > event->start_ns))
        return;
    while (summing->depth && events[summing->open[summing->depth - 1]].end_ns <= event->start_ns)
        summing->depth--;
    if (summing->depth) {
        uint64_t *around_ns = &summing->self_ns[events[summing->open[summing->depth - 1]].node];
        *around_ns -= own_ns < *around_ns ? own_ns : *around_ns;
    }
    summing->self_ns[event->node] += own_ns;
    summing->calls[event->node] += event->start_ns >= summing->selection->begin_ns;
    summing->open[summing->depth++] = i;
}

static void visit_thread(struct summing *summing, uint32_t thread, weights_visit *visit, void *context)
{
    uint32_t first, end;
    call_events_of(summing->recording, thread, &first, &end);
    uint64_t end_ns = summing->selection->end_ns ? summing->selection->end_ns : UINT64_MAX;
    summing->depth = 0;
    for (uint32_t i = first; i < end && summing->recording->call_events[i].start_ns < end_ns; i++)
        add(summing, i);
    for (uint32_t node = 0; node < summing->recording->nodes_count && first < end; node++) {
        const struct weight weight = {
            .thread = thread, .node = node, .amount = summing->self_ns[node], .calls = summing->calls[node]};
        if (weight.amount || weight.calls)
            visit(&weight, context);
        summing->self_ns[node] = summing->calls[node] = 0;
    }
}

int call_weights_each(const struct recording *recording, const struct selection *selection,
                      weights_visit *visit, void *context, struct err *err)
{
    size_t nodes = (size_t)recording->nodes_count + 1;
    struct summing summing = {.recording = recording,
                              .selection = selection,
                              .self_ns = calloc(nodes, sizeof *summing.self_ns),
                              .calls = calloc(nodes, sizeof *summing.calls),
                              .open =
                                  malloc(((size_t)recording->call_events_count + 1) * sizeof *summing.open)};
    bool done = summing.self_ns && summing.calls && summing.open;
    for (uint32_t i = 0; done && i < recording->threads_count; i++)
        if (tree_selection_has(selection, recording, i))
            visit_thread(&summing, i, visit, context);
    free(summing.self_ns);
    free(summing.calls);
    free(summing.open);
    return done ? 0 : err_set(err, "not enough memory to add up %u calls", recording->call_events_count);
}
