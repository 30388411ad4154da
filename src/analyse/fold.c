#include "analyse/fold.h"

#include <stdlib.h>

#include "analyse/tree_maker.h"
#include "base/err.h"

struct folding {
    struct tree_maker maker;
    uint32_t *outermost; /* by code: the folded node of its call that is on the stack now; 0 = none */
    uint32_t *place_of;  /* by node: its folded node */
};

static void enter(const struct tree *tree, uint32_t at, void *context)
{
    struct folding *folding = context;
    const struct tree_node *node = &tree->nodes[at];
    uint32_t home = node->recursive ? folding->outermost[node->code] : 0;
    if (at && !home)
        home = tree_maker_child(&folding->maker, folding->place_of[node->parent], node->code);
    if (!node->recursive)
        folding->outermost[node->code] = home;
    folding->place_of[at] = home;
    struct tree_node *into = &folding->maker.tree.nodes[home];
    into->calls += node->calls;
    into->samples += node->samples;
    into->self += node->self;
}

static int fold(const struct tree *tree, struct folding *folding, uint32_t code_count, struct tree *folded,
                struct err *err)
{
    folding->outermost = calloc((size_t)code_count + 1, sizeof *folding->outermost);
    folding->place_of = calloc(tree->count, sizeof *folding->place_of);
    tree_maker_begin(&folding->maker);
    if (folding->outermost && folding->place_of && !folding->maker.failed)
        tree_walk(tree, enter, NULL, folding);
    else
        folding->maker.failed = true;
    if (tree_maker_finish(&folding->maker, code_count, folded, err) < 0)
        return -1;
    for (uint32_t i = 0; i < tree->count; i++)
        if (tree->nodes[i].recursive && tree->nodes[i].code)
            folded->nodes[folding->place_of[i]].recursive = true;
    return 0;
}

int fold_recursion(struct tree *tree, uint32_t code_count, struct err *err)
{
    /* Estimated paths end where they would recurse. */
    if (tree->estimated || !tree->count)
        return 0;
    struct folding folding = {0};
    struct tree folded = {0};
    int result = fold(tree, &folding, code_count, &folded, err);
    free(folding.outermost);
    free(folding.place_of);
    if (result < 0)
        return -1;
    tree_clear(tree);
    *tree = folded;
    return 0;
}
