#include "query/rectangles.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/tree.h"
#include "base/err.h"
#include "base/sort.h"
#include "query/answer.h"

/* The nodes level by level; children of a node lie side by side. What is shown of a node is taken when
 * it is met: nodes lie far apart in memory, and there may be a million. */
struct levels {
    uint32_t *order; /* nodes of the tree */
    uint32_t *first; /* of each level, and the end */
    uint32_t level_count;
    /* Arrays of the answer. */
    uint32_t *parent; /* places in `order` */
    uint32_t *code;
    double *start_ns, *total, *self, *calls;
    /* The same, where shares are asked for; else NULL. */
    double whole;
    double *total_share, *self_share, *caller_share;
};

static void levels_clear(struct levels *levels)
{
    free(levels->order);
    free(levels->first);
}

/* Every node of a tree hangs below its root, so there is a rectangle for each. */
static int levels_alloc(struct levels *levels, struct answer *answer, size_t count, uint64_t whole)
{
    size_t reals = whole ? 7 : 4;
    levels->first = malloc((count + 1) * sizeof *levels->first);
    levels->order = malloc(count * sizeof *levels->order);
    if (!levels->first || !levels->order ||
        !answer_reserve(answer, count * (2 * sizeof(uint32_t) + reals * sizeof(double)) + 256))
        return -1;
    levels->parent = answer_numbers(answer, "parent", count);
    levels->code = answer_numbers(answer, "code", count);
    levels->start_ns = answer_reals(answer, "start", count);
    levels->total = answer_reals(answer, "total", count);
    levels->self = answer_reals(answer, "self", count);
    levels->calls = answer_reals(answer, "calls", count);
    if (!whole)
        return 0;
    levels->whole = (double)whole;
    levels->total_share = answer_reals(answer, "total_share", count);
    levels->self_share = answer_reals(answer, "self_share", count);
    levels->caller_share = answer_reals(answer, "caller_share", count);
    return 0;
}

static void put_node(struct levels *levels, uint32_t place, const struct tree *tree, uint32_t index)
{
    const struct tree_node *node = &tree->nodes[index];
    levels->code[place] = node->code;
    levels->total[place] = (double)node->total;
    levels->self[place] = (double)node->self;
    levels->calls[place] = (double)(node->calls + node->total_samples);
    if (!levels->whole)
        return;
    levels->total_share[place] = levels->total[place] / levels->whole;
    levels->self_share[place] = levels->self[place] / levels->whole;
    levels->caller_share[place] = answer_share((double)node->total, (double)tree->nodes[node->parent].total);
}

struct ranking {
    const struct tree *tree;
    const uint32_t *ranks;
};

static int by_rank(const void *left, const void *right, void *context)
{
    const struct ranking *ranking = context;
    const struct tree_node *nodes = ranking->tree->nodes;
    uint32_t a = ranking->ranks[nodes[*(const uint32_t *)left].code];
    uint32_t b = ranking->ranks[nodes[*(const uint32_t *)right].code];
    return a < b ? -1 : a > b;
}

/* The children of the node at `place`, from `used` on in the order they are drawn in; where they end. */
static uint32_t order_children(struct levels *levels, const struct tree *tree, const uint32_t *ranks,
                               uint32_t place, uint32_t used)
{
    uint32_t first = used, child = tree->nodes[levels->order[place]].first_child;
    for (; child; child = tree->nodes[child].next_sibling)
        levels->order[used++] = child;
    struct ranking ranking = {tree, ranks};
    struct err err;
    if (ranks && used - first > 1) /* without memory they stay as they are: by time is an order, too */
        sort_rows(levels->order + first, used - first, sizeof *levels->order, by_rank, &ranking, &err);
    return used;
}

static uint32_t put_children(struct levels *levels, const struct tree *tree, const uint32_t *ranks,
                             uint32_t place, uint32_t used)
{
    double at_ns = levels->start_ns[place];
    uint32_t end = order_children(levels, tree, ranks, place, used);
    for (; used < end; used++) {
        put_node(levels, used, tree, levels->order[used]);
        levels->parent[used] = place;
        levels->start_ns[used] = at_ns;
        at_ns += levels->total[used];
    }
    return used;
}

static void levels_fill(struct levels *levels, const struct tree *tree, const uint32_t *ranks)
{
    uint32_t used = 1, place = 0;
    levels->order[0] = 0;
    put_node(levels, 0, tree, 0);
    while (place < used) {
        levels->first[levels->level_count++] = place;
        for (uint32_t end = used; place < end; place++)
            used = put_children(levels, tree, ranks, place, used);
    }
    levels->first[levels->level_count] = used;
}

static void put_numbers(struct answer *answer, const char *name, const uint32_t *numbers, size_t count)
{
    uint32_t *array = answer_numbers(answer, name, count);
    if (array)
        memcpy(array, numbers, count * sizeof *array);
}

int rectangles_put(struct answer *answer, const struct tree *tree, const struct rectangles_options *options,
                   struct err *err)
{
    struct levels levels = {0};
    int result = levels_alloc(&levels, answer, tree->count, options ? options->whole : 0);
    if (result == 0) {
        levels_fill(&levels, tree, options ? options->ranks : NULL);
        json_key(&answer->json, "estimated");
        json_bool(&answer->json, tree->estimated);
        put_numbers(answer, "level", levels.first, levels.level_count + 1);
        if (options && options->nodes)
            put_numbers(answer, "node", levels.order, levels.first[levels.level_count]);
    }
    levels_clear(&levels);
    return result < 0 ? err_set(err, "not enough memory to draw %u stacks", tree->count) : 0;
}
