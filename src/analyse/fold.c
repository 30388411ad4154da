#include "analyse/fold.h"

#include <stdlib.h>

#include "analyse/tree.h"
#include "base/err.h"
#include "base/map.h"

struct folding {
    struct tree folded;
    struct map places;   /* (folded parent, code) → folded node */
    uint32_t *outermost; /* by code: the folded node of its call that is on the stack now; 0 = none */
    uint32_t *place_of;  /* by node: its folded node */
    bool failed;
};

static uint32_t place(struct folding *folding, uint32_t parent, uint32_t code)
{
    uint32_t found = map_get(&folding->places, map_pair(parent, code));
    if (found != MAP_NONE)
        return found;
    uint32_t made = folding->folded.count;
    if (!map_set(&folding->places, map_pair(parent, code), made)) {
        folding->failed = true;
        return 0;
    }
    folding->folded.nodes[made] = (struct tree_node){.code = code, .parent = parent};
    folding->folded.count++;
    return made;
}

static void enter(const struct tree *tree, uint32_t at, void *context)
{
    struct folding *folding = context;
    const struct tree_node *node = &tree->nodes[at];
    uint32_t home = node->recursive ? folding->outermost[node->code] : 0;
    if (at && !home)
        home = place(folding, folding->place_of[node->parent], node->code);
    if (!node->recursive)
        folding->outermost[node->code] = home;
    folding->place_of[at] = home;
    struct tree_node *into = &folding->folded.nodes[home];
    into->calls += node->calls;
    into->samples += node->samples;
    into->self_ns += node->self_ns;
}

static void sum_totals(struct tree *tree)
{
    struct tree_node *nodes = tree->nodes;
    for (uint32_t i = tree->count; i-- > 0;) {
        nodes[i].total_ns += nodes[i].self_ns;
        nodes[i].total_samples += nodes[i].samples;
        if (!i)
            continue;
        nodes[nodes[i].parent].total_ns += nodes[i].total_ns;
        nodes[nodes[i].parent].total_samples += nodes[i].total_samples;
    }
}

static int fold(const struct tree *tree, struct folding *folding, uint32_t code_count, struct err *err)
{
    folding->folded.nodes = calloc(tree->count, sizeof *tree->nodes);
    folding->folded.count = 1;
    folding->outermost = calloc((size_t)code_count + 1, sizeof *folding->outermost);
    folding->place_of = calloc(tree->count, sizeof *folding->place_of);
    if (!folding->folded.nodes || !folding->outermost || !folding->place_of)
        return err_set(err, "not enough memory to fold recursion");
    tree_walk(tree, enter, NULL, folding);
    if (folding->failed)
        return err_set(err, "not enough memory to fold recursion");
    sum_totals(&folding->folded);
    if (tree_link(&folding->folded, code_count, err) < 0)
        return -1;
    for (uint32_t i = 0; i < tree->count; i++)
        if (tree->nodes[i].recursive && tree->nodes[i].code)
            folding->folded.nodes[folding->place_of[i]].recursive = true;
    return 0;
}

int fold_recursion(struct tree *tree, uint32_t code_count, struct err *err)
{
    /* Estimated paths end where they would recurse. */
    if (tree->estimated || !tree->count)
        return 0;
    struct folding folding = {0};
    int result = fold(tree, &folding, code_count, err);
    map_clear(&folding.places);
    free(folding.outermost);
    free(folding.place_of);
    tree_clear(result < 0 ? &folding.folded : tree);
    if (result == 0)
        *tree = folding.folded;
    return result;
}
