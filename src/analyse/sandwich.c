#include "analyse/sandwich.h"

#include <stdlib.h>

#include "analyse/tree_maker.h"
#include "base/err.h"

/* In both trees a parent comes before its children, so one pass finds what hangs below the function. */
int sandwich_callees(const struct tree *tree, uint32_t code, uint32_t code_count, struct tree *callees,
                     struct err *err)
{
    struct tree_maker maker;
    tree_maker_begin(&maker);
    uint32_t *places = calloc(tree->count + 1, sizeof *places); /* 0 = not below the function */
    maker.failed |= !places;
    for (uint32_t i = 1; i < tree->count && !maker.failed; i++) {
        const struct tree_node *node = &tree->nodes[i];
        uint32_t parent = places[node->parent];
        if (!parent && node->code != code)
            continue;
        places[i] = tree_maker_child(&maker, parent, node->code);
        struct tree_node *into = &maker.tree.nodes[places[i]];
        into->calls += node->calls;
        into->samples += node->samples;
        into->self += node->self;
    }
    free(places);
    return tree_maker_finish(&maker, code_count, callees, err);
}

/* The chain of callers of one call, which ends at its root. */
static void add_chain(struct tree_maker *maker, const struct tree *tree, uint32_t at)
{
    const struct tree_node *called = &tree->nodes[at];
    uint32_t place = 0;
    for (; at; at = tree->nodes[at].parent) {
        place = tree_maker_child(maker, place, tree->nodes[at].code);
        maker->tree.nodes[place].calls += called->calls;
    }
    maker->tree.nodes[place].self += called->total;
    maker->tree.nodes[place].samples += called->total_samples;
}

int sandwich_callers(const struct tree *tree, uint32_t code, uint32_t code_count, struct tree *callers,
                     struct err *err)
{
    struct tree_maker maker;
    tree_maker_begin(&maker);
    for (uint32_t i = 1; i < tree->count && !maker.failed; i++)
        if (tree->nodes[i].code == code && !tree->nodes[i].recursive)
            add_chain(&maker, tree, i);
    return tree_maker_finish(&maker, code_count, callers, err);
}
