#include "collect/agent/heap_tree.h"

#include "collect/agent/heap_area.h"
#include "collect/agent/own_memory.h"

#define PROBES_MAX 256

bool heap_tree_open(struct heap_tree *tree, struct heap_area *area)
{
    uint32_t places = 4096;
    while (places < 2 * area->limits.nodes)
        places *= 2;
    *tree = (struct heap_tree){
        .area = area, .index = own_memory_map(places * sizeof *tree->index), .index_mask = places - 1};
    return tree->index;
}

void heap_tree_close(struct heap_tree *tree)
{
    if (tree->index)
        own_memory_unmap(tree->index, (tree->index_mask + (size_t)1) * sizeof *tree->index);
    *tree = (struct heap_tree){0};
}

/* Takes a row of a table that only grows; the caller publishes it by naming it. */
static uint32_t take_row(uint32_t *count, uint32_t limit)
{
    uint32_t row = __atomic_fetch_add(count, 1, __ATOMIC_ACQ_REL);
    if (row < limit)
        return row;
    __atomic_fetch_sub(count, 1, __ATOMIC_RELAXED);
    return 0;
}

static uint32_t add_node(struct heap_tree *tree, const struct heap_node *node)
{
    uint32_t row = take_row(&tree->area->node_count, tree->area->limits.nodes);
    if (row)
        heap_area_nodes(tree->area)[row] = *node;
    else
        __atomic_fetch_add(&tree->area->lost_nodes, 1, __ATOMIC_RELAXED);
    return row;
}

uint32_t heap_tree_root(struct heap_tree *tree, uint32_t thread)
{
    const struct heap_node node = {.thread = thread};
    return add_node(tree, &node);
}

static uint32_t place_of(const struct heap_tree *tree, const struct heap_node *wanted)
{
    uint64_t key = ((uint64_t)wanted->parent << 32 | wanted->code) * 0x9e3779b97f4a7c15u;
    key = (key ^ (uint32_t)wanted->offset ^ (uint64_t)wanted->kind << 40) * 0xff51afd7ed558ccdu;
    return (uint32_t)(key >> 32) & tree->index_mask;
}

static bool is_same(const struct heap_node *node, const struct heap_node *wanted)
{
    return node->parent == wanted->parent && node->code == wanted->code && node->offset == wanted->offset &&
           node->kind == wanted->kind;
}

static uint32_t find_child(struct heap_tree *tree, struct heap_node wanted)
{
    const struct heap_node *nodes = heap_area_nodes(tree->area);
    uint32_t at = place_of(tree, &wanted), row = 0;
    for (uint32_t probes = 0; probes < PROBES_MAX; probes++, at = (at + 1) & tree->index_mask) {
        uint32_t found = __atomic_load_n(&tree->index[at], __ATOMIC_ACQUIRE);
        if (found && is_same(&nodes[found], &wanted))
            return found;
        if (found)
            continue;
        wanted.thread = nodes[wanted.parent].thread;
        if (!row)
            row = add_node(tree, &wanted);
        if (!row)
            return wanted.parent;
        /* Another thread may take the place first: the next one will do. */
        if (__atomic_compare_exchange_n(&tree->index[at], &found, row, false, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED))
            return row;
    }
    return row ? row : wanted.parent;
}

uint32_t heap_tree_python(struct heap_tree *tree, uint32_t parent, uint32_t code, int32_t offset,
                          bool called_from_c)
{
    return find_child(tree, (struct heap_node){.parent = parent,
                                               .code = code,
                                               .offset = offset,
                                               .kind = called_from_c ? HEAP_NODE_ENTRY : HEAP_NODE_PYTHON});
}

uint32_t heap_tree_native(struct heap_tree *tree, uint32_t parent, uint64_t address)
{
    return find_child(tree, (struct heap_node){.parent = parent,
                                               .code = (uint32_t)(address >> 32),
                                               .offset = (int32_t)(uint32_t)address,
                                               .kind = HEAP_NODE_NATIVE});
}

uint32_t heap_tree_pair(struct heap_tree *tree, uint32_t python, uint32_t native)
{
    return find_child(
        tree, (struct heap_node){.parent = python, .offset = (int32_t)native, .kind = HEAP_NODE_PAIR});
}

uint32_t heap_tree_record(struct heap_tree *tree, uint32_t node, uint32_t allocator)
{
    struct heap_record *records = heap_area_records(tree->area);
    struct heap_node *owner = &heap_area_nodes(tree->area)[node];
    for (uint32_t row = owner->record; row; row = records[row].next)
        if (records[row].allocator == allocator)
            return row;
    uint32_t row = take_row(&tree->area->record_count, tree->area->limits.records);
    if (!row)
        return 0;
    records[row] =
        (struct heap_record){.allocator = allocator, .next = owner->record, .thread = owner->thread};
    __atomic_store_n(&records[row].node, node, __ATOMIC_RELEASE); /* now it may be read */
    owner->record = row;
    return row;
}
