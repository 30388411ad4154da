#include "analyse/rank_paths.h"

#include <stdlib.h>

#include "base/err.h"

static void fill(const struct rank_table *table, uint32_t path, struct tree_node *node)
{
    const struct rank_cells *cells = &table->paths[path];
    *node =
        (struct tree_node){.code = table->names.nodes[path].code, .parent = table->names.nodes[path].parent};
    for (uint32_t i = 0; i < cells->count; i++) {
        node->calls += cells->rows[i].calls;
        node->total_samples += cells->rows[i].samples;
        node->self += cells->rows[i].self;
        node->total += cells->rows[i].total;
    }
}

int rank_paths_build(const struct rank_table *table, struct tree *tree, struct err *err)
{
    uint32_t count = table->paths ? table->names.nodes_count : 1;
    *tree = (struct tree){.count = count, .measure = table->measure};
    tree->nodes = calloc(count, sizeof *tree->nodes);
    if (!tree->nodes)
        return err_set(err, "not enough memory for %u call paths", count);
    for (uint32_t i = 1; i < count; i++)
        fill(table, i, &tree->nodes[i]);
    for (uint32_t i = 0; i < table->rank_count; i++)
        tree->nodes[0].total += table->ranks[i].amount;
    if (tree_link(tree, table->names.codes_count, err) == 0)
        return 0;
    tree_clear(tree);
    return -1;
}
