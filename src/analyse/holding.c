#include "analyse/holding.h"

#include <stdbool.h>
#include <stdlib.h>

#include "analyse/tree.h"
#include "base/err.h"

static bool is_marked(const uint8_t *marks, uint32_t mark_bytes, uint32_t code)
{
    return code / 8 < mark_bytes && (marks[code / 8] >> code % 8 & 1);
}

int holding_sum(const struct tree *tree, const uint8_t *marks, uint32_t mark_bytes, struct holding *holding,
                struct err *err)
{
    *holding = (struct holding){0};
    if (!tree->count)
        return 0;
    bool *holds = calloc(tree->count, sizeof *holds);
    if (!holds)
        return err_set(err, "not enough memory for a call tree of %u nodes", tree->count);
    for (uint32_t i = 0; i < tree->count; i++) {
        const struct tree_node *node = &tree->nodes[i];
        holds[i] = (i && holds[node->parent]) || is_marked(marks, mark_bytes, node->code);
        holding->total += holds[i] ? node->self : 0;
    }
    holding->whole = tree->nodes[0].total;
    free(holds);
    return 0;
}
