#include "analyse/thread_shares.h"

#include <stdlib.h>

#include "analyse/weights.h"
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

struct sharing {
    const struct recording *recording;
    const bool *is_on;
    uint32_t code;
    struct thread_share *shares;
};

static void add(const struct weight *weight, void *context)
{
    const struct sharing *sharing = context;
    struct thread_share *share = &sharing->shares[weight->thread];
    bool is_self = sharing->recording->nodes[weight->node].code == sharing->code;
    share->total += sharing->is_on[weight->node] ? weight->amount : 0;
    share->self += is_self ? weight->amount : 0;
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
    struct sharing sharing = {recording, is_on, code, shares};
    int result = weights_each(recording, selection, add, &sharing, err);
    free(is_on);
    if (result == 0)
        return shares;
    free(shares);
    return NULL;
}
