#include "analyse/thread_shares.h"

#include <stdlib.h>

#include "analyse/tree.h"
#include "base/err.h"
#include "store/recording.h"

/* By node: whether the function is on the stack that ends there. */
static bool *mark_stacks(const struct recording *recording, uint32_t code)
{
    bool *is_on = calloc((size_t)recording->nodes_count + 1, sizeof *is_on);
    for (uint32_t i = 1; is_on && i < recording->nodes_count; i++)
        is_on[i] = recording->nodes[i].code == code || is_on[recording->nodes[i].parent];
    return is_on;
}

static void add(struct thread_share *share, bool is_on, bool is_self, uint64_t time_ns)
{
    share->total_ns += is_on ? time_ns : 0;
    share->self_ns += is_self ? time_ns : 0;
}

static void add_samples(const struct recording *recording, const struct selection *selection, uint32_t code,
                        const bool *is_on, struct thread_share *shares)
{
    for (uint32_t i = 0; i < recording->samples_count; i++) {
        const struct sample_row *row = &recording->samples[i];
        if (tree_selection_has_sample(selection, recording, row))
            add(&shares[row->thread], is_on[row->node], recording->nodes[row->node].code == code,
                row->weight_ns);
    }
}

static void add_calls(const struct recording *recording, const struct selection *selection, uint32_t code,
                      const bool *is_on, struct thread_share *shares)
{
    for (uint32_t i = 0; i < recording->calls_count; i++) {
        const struct call_row *row = &recording->calls[i];
        if (tree_selection_has(selection, recording, row->thread))
            add(&shares[row->thread], is_on[row->node], recording->nodes[row->node].code == code,
                row->self_ns);
    }
}

struct thread_share *thread_shares_new(const struct recording *recording, const struct selection *selection,
                                       uint32_t code, struct err *err)
{
    struct thread_share *shares = calloc((size_t)recording->threads_count + 1, sizeof *shares);
    bool *is_on = shares ? mark_stacks(recording, code) : NULL;
    if (!is_on) {
        free(shares);
        err_set(err, "not enough memory for the shares of %u threads", recording->threads_count);
        return NULL;
    }
    if (tree_is_sampled(recording))
        add_samples(recording, selection, code, is_on, shares);
    else
        add_calls(recording, selection, code, is_on, shares);
    free(is_on);
    return shares;
}
