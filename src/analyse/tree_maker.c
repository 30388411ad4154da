#include "analyse/tree_maker.h"

#include <stdlib.h>

#include "base/err.h"

static uint32_t add_node(struct tree_maker *maker, const struct tree_node *node)
{
    struct tree *tree = &maker->tree;
    if (tree->count == maker->capacity) {
        uint32_t capacity = maker->capacity * 2 + 256;
        struct tree_node *nodes = realloc(tree->nodes, capacity * sizeof *nodes);
        if (!nodes) {
            maker->failed = true;
            return 0;
        }
        tree->nodes = nodes;
        maker->capacity = capacity;
    }
    tree->nodes[tree->count] = *node;
    return tree->count++;
}

void tree_maker_begin(struct tree_maker *maker)
{
    *maker = (struct tree_maker){0};
    add_node(maker, &(struct tree_node){0});
}

uint32_t tree_maker_child(struct tree_maker *maker, uint32_t parent, uint32_t code)
{
    if (maker->failed)
        return 0;
    uint64_t key = map_pair(parent, code);
    uint32_t found = map_get(&maker->places, key);
    if (found != MAP_NONE)
        return found;
    uint32_t made = add_node(maker, &(struct tree_node){.code = code, .parent = parent});
    if (made && !map_set(&maker->places, key, made))
        maker->failed = true;
    return maker->failed ? 0 : made;
}

static void sum_totals(struct tree *tree)
{
    struct tree_node *nodes = tree->nodes;
    for (uint32_t i = tree->count; i-- > 0;) {
        nodes[i].total += nodes[i].self;
        nodes[i].total_samples += nodes[i].samples;
        if (!i)
            continue;
        nodes[nodes[i].parent].total += nodes[i].total;
        nodes[nodes[i].parent].total_samples += nodes[i].total_samples;
    }
}

int tree_maker_finish(struct tree_maker *maker, uint32_t code_count, struct tree *tree, struct err *err)
{
    *tree = maker->tree;
    int result =
        maker->failed ? err_set(err, "not enough memory for a call tree of %u nodes", tree->count) : 0;
    if (result == 0) {
        sum_totals(tree);
        result = tree_link(tree, code_count, err);
    }
    if (result < 0)
        tree_clear(tree);
    map_clear(&maker->places);
    *maker = (struct tree_maker){0};
    return result;
}
