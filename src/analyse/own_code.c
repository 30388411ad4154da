#include "analyse/own_code.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/heap_kept.h"
#include "analyse/heap_move.h"
#include "analyse/labels.h"
#include "analyse/node_table.h"
#include "analyse/tree.h"
#include "base/err.h"

/* Stacks that are being moved: those recorded, or those estimated from a flat profile. */
struct moving {
    const struct recording *from;
    struct recording *into;
    struct node_table table;
    uint32_t *place;     /* by old node: what stands for it; 0 = nothing does */
    uint32_t *outermost; /* by old node */
    bool *is_hidden;     /* by old node */
};

bool own_code_is_library(const struct recording *recording, const struct code *code)
{
    const char *file = recording_text(recording, code->file);
    return (code->flags & CODE_LIBRARY) || labels_library_path(file) || strncmp(file, "<frozen ", 8) == 0;
}

static bool is_hidden(const struct moving *moving, const struct node *node)
{
    const struct code *code = &moving->from->codes[node->code];
    if (code->kind != CODE_PYTHON)
        return moving->is_hidden[node->parent];
    return own_code_is_library(moving->from, code);
}

static int move_nodes(struct moving *moving)
{
    for (uint32_t i = 1; i < moving->from->nodes_count; i++) {
        struct node node = moving->from->nodes[i];
        moving->outermost[i] = node.parent ? moving->outermost[node.parent] : i;
        moving->is_hidden[i] = is_hidden(moving, &node);
        node.parent = moving->place[node.parent];
        moving->place[i] =
            moving->is_hidden[i] ? node.parent : node_table_find(&moving->table, moving->into, &node);
        if (!moving->is_hidden[i] && !moving->place[i])
            return -1;
    }
    return 0;
}

/* *into is 0 for what had no stack before, too. */
static int move_row(struct moving *moving, uint32_t old, uint32_t *into)
{
    *into = moving->place[old];
    if (*into || !old)
        return 0;
    struct node node = moving->from->nodes[moving->outermost[old]];
    *into = node_table_find(&moving->table, moving->into, &node);
    return *into ? 0 : -1;
}

static int move_calls(struct moving *moving)
{
    for (uint32_t i = 0; i < moving->from->calls_count; i++) {
        struct call_row row = moving->from->calls[i];
        uint32_t old = row.node;
        bool stays = !moving->is_hidden[old] || (!moving->place[old] && moving->outermost[old] == old);
        row.calls = stays ? row.calls : 0;
        if (move_row(moving, old, &row.node) < 0 || recording_add_calls(moving->into, &row) == UINT32_MAX)
            return -1;
    }
    return 0;
}

static int move_samples(struct moving *moving)
{
    for (uint32_t i = 0; i < moving->from->samples_count; i++) {
        struct sample_row row = moving->from->samples[i];
        if (move_row(moving, row.node, &row.node) < 0 ||
            recording_add_sample(moving->into, &row) == UINT32_MAX)
            return -1;
    }
    return 0;
}

/* By old node the new one, for all nodes that have rows. */
static uint32_t *places_of_heap(struct moving *moving)
{
    const struct recording *from = moving->from;
    uint32_t *of_node = calloc((size_t)from->nodes_count + 1, sizeof *of_node);
    bool failed = !of_node;
    for (uint32_t i = 0; i < from->heap_count && !failed; i++)
        failed = move_row(moving, from->heap[i].node, &of_node[from->heap[i].node]) < 0;
    if (!failed)
        return of_node;
    free(of_node);
    return NULL;
}

/* Frames that are left out can no longer tell what the interpreter keeps, so its rows are marked. */
static int move_heap_rows(struct moving *moving, const uint32_t *of_node, const bool *kept, struct err *err)
{
    const struct recording *from = moving->from;
    for (uint32_t i = 0; i < from->heap_count; i++)
        if (recording_add_heap(moving->into, &from->heap[i]) == UINT32_MAX)
            return -1;
    return heap_move_rows(moving->into->heap, moving->into->heap_count, of_node, kept, err);
}

static int move_heap(struct moving *moving)
{
    struct err err = {0};
    if (!moving->from->heap_count)
        return 0;
    bool *kept = heap_kept_rows(moving->from, &err);
    uint32_t *of_node = kept ? places_of_heap(moving) : NULL;
    int result = of_node ? move_heap_rows(moving, of_node, kept, &err) : -1;
    free(kept);
    free(of_node);
    return result;
}

static int move_allocations(struct moving *moving)
{
    for (uint32_t i = 0; i < moving->from->allocations_count; i++) {
        struct allocation_row row = moving->from->allocations[i];
        if (move_row(moving, row.node, &row.node) < 0 ||
            recording_add_allocation(moving->into, &row) == UINT32_MAX)
            return -1;
    }
    return 0;
}

static int move_stacks(const struct recording *from, struct recording *into)
{
    struct moving moving = {.from = from, .into = into};
    size_t count = (size_t)from->nodes_count + 1;
    moving.place = calloc(count, sizeof *moving.place);
    moving.outermost = calloc(count, sizeof *moving.outermost);
    moving.is_hidden = calloc(count, sizeof *moving.is_hidden);
    int result = moving.place && moving.outermost && moving.is_hidden && move_nodes(&moving) == 0 &&
                         move_calls(&moving) == 0 && move_samples(&moving) == 0 && move_heap(&moving) == 0 &&
                         move_allocations(&moving) == 0
                     ? 0
                     : -1;
    free(moving.place);
    free(moving.outermost);
    free(moving.is_hidden);
    node_table_clear(&moving.table);
    return result;
}

/* Puts the tree's nodes and calls into `stacks`, which owns them. */
static int copy_tree(const struct tree *tree, struct recording *stacks)
{
    stacks->nodes = calloc(tree->count, sizeof *stacks->nodes);
    stacks->calls = calloc(tree->count, sizeof *stacks->calls);
    if (!stacks->nodes || !stacks->calls)
        return -1;
    stacks->nodes_count = stacks->calls_count = tree->count;
    for (uint32_t i = 0; i < tree->count; i++) {
        const struct tree_node *node = &tree->nodes[i];
        stacks->nodes[i] = (struct node){node->parent, node->code, node->line};
        stacks->calls[i] = (struct call_row){.node = i, .calls = node->calls, .self_ns = node->self};
    }
    return 0;
}

static struct recording without_stacks(const struct recording *whole)
{
    struct recording bare = *whole;
    bare.nodes = NULL;
    bare.calls = NULL;
    bare.samples = NULL;
    bare.heap = NULL;
    bare.allocations = NULL;
    bare.nodes_count = bare.nodes_capacity = 0;
    bare.calls_count = bare.calls_capacity = 0;
    bare.samples_count = bare.samples_capacity = 0;
    bare.heap_count = bare.heap_capacity = 0;
    bare.allocations_count = bare.allocations_capacity = 0;
    return bare;
}

static int move_flat(const struct recording *whole, struct recording *into, struct err *err)
{
    struct recording stacks = without_stacks(whole);
    struct tree tree;
    if (tree_build(&stacks, NULL, &tree, err) < 0)
        return -1;
    int result = copy_tree(&tree, &stacks) == 0 ? move_stacks(&stacks, into) : -1;
    free(stacks.nodes);
    free(stacks.calls);
    tree_clear(&tree);
    return result;
}

int own_code_build(const struct recording *whole, struct own_code *own, struct err *err)
{
    struct recording *into = &own->recording;
    *into = without_stacks(whole);
    into->functions_count = into->edges_count = 0;
    if (!whole->codes_count)
        return 0;
    int result = recording_init(into, err);
    if (result == 0)
        result = move_stacks(whole, into);
    if (result == 0 && whole->functions_count && !tree_is_sampled(whole))
        result = move_flat(whole, into, err);
    if (result == 0)
        result = recording_compact_calls(into, err);
    if (result == 0)
        return 0;
    own_code_clear(own);
    return err_set(err, "not enough memory to leave the libraries out");
}

void own_code_clear(struct own_code *own)
{
    free(own->recording.nodes);
    free(own->recording.calls);
    free(own->recording.samples);
    free(own->recording.heap);
    free(own->recording.allocations);
    *own = (struct own_code){0};
}
