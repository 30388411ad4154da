#include "analyse/weights.h"

#include "analyse/call_weights.h"
#include "analyse/heap_weights.h"
#include "store/recording.h"

static void visit_samples(const struct recording *recording, const struct selection *selection,
                          weights_visit *visit, void *context)
{
    for (uint32_t i = 0; i < recording->samples_count; i++) {
        const struct sample_row *row = &recording->samples[i];
        const struct weight weight = {
            .thread = row->thread, .node = row->node, .amount = row->weight_ns, .samples = row->count};
        if (tree_selection_has_sample(selection, recording, row))
            visit(&weight, context);
    }
}

static void visit_calls(const struct recording *recording, const struct selection *selection,
                        weights_visit *visit, void *context)
{
    for (uint32_t i = 0; i < recording->calls_count; i++) {
        const struct call_row *row = &recording->calls[i];
        const struct weight weight = {
            .thread = row->thread, .node = row->node, .amount = row->self_ns, .calls = row->calls};
        if (tree_selection_has(selection, recording, row->thread))
            visit(&weight, context);
    }
}

int weights_each(const struct recording *recording, const struct selection *selection, weights_visit *visit,
                 void *context, struct err *err)
{
    enum measure measure = measure_of(recording, selection);
    if (measure_is_memory(measure))
        return heap_weights_each(recording, selection, measure, visit, context, err);
    if (measure == MEASURE_TIME && call_weights_are_meant(recording, selection))
        return call_weights_each(recording, selection, visit, context, err);
    if (measure_is_of_samples(recording, measure))
        visit_samples(recording, selection, visit, context);
    else if (measure == MEASURE_TIME)
        visit_calls(recording, selection, visit, context);
    return 0;
}
