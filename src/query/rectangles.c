#include "query/rectangles.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/tree.h"
#include "base/err.h"
#include "query/answer.h"

/* The nodes level by level; children of a node lie side by side, hottest first. */
struct levels {
    uint32_t *order;  /* nodes of the tree */
    uint32_t *parent; /* places in `order` */
    double *start_ns;
    uint32_t *first; /* of each level, and the end */
    uint32_t level_count;
};

static void levels_clear(struct levels *levels)
{
    free(levels->order);
    free(levels->parent);
    free(levels->start_ns);
    free(levels->first);
}

static int levels_alloc(struct levels *levels, uint32_t count)
{
    levels->order = malloc((size_t)count * sizeof *levels->order);
    levels->parent = malloc((size_t)count * sizeof *levels->parent);
    levels->start_ns = malloc((size_t)count * sizeof *levels->start_ns);
    levels->first = malloc(((size_t)count + 1) * sizeof *levels->first);
    return levels->order && levels->parent && levels->start_ns && levels->first ? 0 : -1;
}

static uint32_t put_children(struct levels *levels, const struct tree *tree, uint32_t place, uint32_t used)
{
    double at_ns = levels->start_ns[place];
    uint32_t child = tree->nodes[levels->order[place]].first_child;
    for (; child; child = tree->nodes[child].next_sibling) {
        levels->order[used] = child;
        levels->parent[used] = place;
        levels->start_ns[used++] = at_ns;
        at_ns += (double)tree->nodes[child].total_ns;
    }
    return used;
}

static int levels_fill(struct levels *levels, const struct tree *tree)
{
    if (levels_alloc(levels, tree->count) < 0)
        return -1;
    uint32_t used = 1, place = 0;
    levels->order[0] = levels->parent[0] = 0;
    levels->start_ns[0] = 0;
    while (place < used) {
        levels->first[levels->level_count++] = place;
        for (uint32_t end = used; place < end; place++)
            used = put_children(levels, tree, place, used);
    }
    levels->first[levels->level_count] = used;
    return 0;
}

static void put_rectangles(struct answer *answer, const struct tree *tree, const struct levels *levels)
{
    uint32_t count = levels->first[levels->level_count];
    const struct tree_node *nodes = tree->nodes;
    uint32_t *first = answer_numbers(answer, "level", levels->level_count + 1);
    if (first)
        memcpy(first, levels->first, (levels->level_count + 1) * sizeof *first);
    uint32_t *parent = answer_numbers(answer, "parent", count);
    if (parent)
        memcpy(parent, levels->parent, count * sizeof *parent);
    double *start = answer_reals(answer, "start", count);
    if (start)
        memcpy(start, levels->start_ns, count * sizeof *start);
    uint32_t *code = answer_numbers(answer, "code", count);
    for (uint32_t i = 0; code && i < count; i++)
        code[i] = nodes[levels->order[i]].code;
    uint32_t *line = answer_numbers(answer, "line", count);
    for (uint32_t i = 0; line && i < count; i++)
        line[i] = nodes[levels->order[i]].line;
    double *total = answer_reals(answer, "total", count);
    for (uint32_t i = 0; total && i < count; i++)
        total[i] = (double)nodes[levels->order[i]].total_ns;
    double *self = answer_reals(answer, "self", count);
    for (uint32_t i = 0; self && i < count; i++)
        self[i] = (double)nodes[levels->order[i]].self_ns;
    uint32_t *node = answer_numbers(answer, "node", count);
    if (node)
        memcpy(node, levels->order, count * sizeof *node);
    double *calls = answer_reals(answer, "calls", count);
    for (uint32_t i = 0; calls && i < count; i++)
        calls[i] = (double)(nodes[levels->order[i]].calls + nodes[levels->order[i]].total_samples);
}

int rectangles_put(struct answer *answer, const struct tree *tree, struct err *err)
{
    struct levels levels = {0};
    int result = levels_fill(&levels, tree);
    if (result == 0) {
        json_key(&answer->json, "estimated");
        json_bool(&answer->json, tree->estimated);
        put_rectangles(answer, tree, &levels);
    }
    levels_clear(&levels);
    return result < 0 ? err_set(err, "not enough memory to draw %u stacks", tree->count) : 0;
}
