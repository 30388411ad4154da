#include "analyse/main_threads.h"

#include <stdlib.h>

#include "analyse/weights.h"
#include "base/err.h"
#include "store/recording.h"

static void add_weight(const struct weight *weight, void *context)
{
    uint64_t *amounts = context;
    amounts[weight->thread] += weight->node ? weight->amount : 0;
}

/* By thread: what its stacks weigh. */
static uint64_t *thread_amounts(const struct recording *recording, struct err *err)
{
    uint64_t *amounts = calloc((size_t)recording->threads_count + 1, sizeof *amounts);
    if (!amounts)
        err_set(err, "not enough memory for the times of %u threads", recording->threads_count);
    if (amounts && weights_each(recording, NULL, add_weight, amounts, err) == 0)
        return amounts;
    free(amounts);
    return NULL;
}

int main_threads_busiest(const struct recording *recording, uint32_t ids[MAIN_THREADS_MAX], struct err *err)
{
    uint64_t *amounts = thread_amounts(recording, err);
    int count = 0;
    if (!amounts)
        return -1;
    for (uint32_t thread = 1; thread < recording->threads_count; thread++) {
        if (!amounts[thread] || (count == MAIN_THREADS_MAX && amounts[thread] <= amounts[ids[count - 1]]))
            continue;
        int place = count < MAIN_THREADS_MAX ? count++ : count - 1;
        for (; place && amounts[thread] > amounts[ids[place - 1]]; place--)
            ids[place] = ids[place - 1];
        ids[place] = thread;
    }
    free(amounts);
    return count;
}

void main_threads_clear(struct main_threads *main)
{
    map_clear(&main->children);
    free(main->thread);
    free(main->amount);
    *main = (struct main_threads){0};
}

static int fail(const struct main_threads *main, struct err *err)
{
    return err_set(err, "not enough memory to tell threads apart in %u stacks", main->tree->count);
}

int main_threads_init(struct main_threads *main, const struct tree *tree, struct err *err)
{
    *main = (struct main_threads){.tree = tree};
    main->thread = calloc(tree->count, sizeof *main->thread);
    main->amount = calloc(tree->count, sizeof *main->amount);
    bool failed = !main->thread || !main->amount;
    for (uint32_t i = 1; i < tree->count && !failed; i++)
        failed = !map_set(&main->children, map_pair(tree->nodes[i].parent, tree->nodes[i].code), i);
    return failed ? fail(main, err) : 0;
}

/* Where a node of the part lies in the tree; MAP_NONE where the tree ends before it. */
static uint32_t place_in(const struct main_threads *main, const uint32_t *places,
                         const struct tree_node *node)
{
    uint32_t above = places[node->parent];
    return above == MAP_NONE ? MAP_NONE : map_get(&main->children, map_pair(above, node->code));
}

int main_threads_add(struct main_threads *main, uint32_t thread, const struct tree *part, struct err *err)
{
    uint32_t *places = calloc(part->count ? part->count : 1, sizeof *places);
    if (!places)
        return fail(main, err);
    for (uint32_t i = 0; i < part->count; i++) {
        uint32_t place = places[i] = i ? place_in(main, places, &part->nodes[i]) : 0;
        if (place == MAP_NONE || part->nodes[i].total <= main->amount[place])
            continue;
        main->thread[place] = thread;
        main->amount[place] = part->nodes[i].total;
    }
    free(places);
    return 0;
}
