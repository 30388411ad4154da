/*
 * heap_tree: the tree of stacks in a heap area. A node belongs to one thread, and only that thread looks for its children
 * and adds to them; the table and its index are shared by all.
 */
#ifndef SONDE_COLLECT_AGENT_HEAP_TREE_H
#define SONDE_COLLECT_AGENT_HEAP_TREE_H

#include <stdbool.h>
#include <stdint.h>

struct heap_area;
struct heap_record;

/* The index is private memory, made when the tree is opened. */
struct heap_tree {
    struct heap_area *area;
    uint32_t *index;
    uint32_t index_mask;
};

/* False when there is no memory. */
bool heap_tree_open(struct heap_tree *tree, struct heap_area *area);
void heap_tree_close(struct heap_tree *tree);

/* A new root, for a thread. 0 when the table is full. */
uint32_t heap_tree_root(struct heap_tree *tree, uint32_t thread);
/* The child of a node for this frame, made when it is new; the node itself when the table is full. */
uint32_t heap_tree_python(struct heap_tree *tree, uint32_t parent, uint32_t code, int32_t offset,
                          bool called_from_c);
uint32_t heap_tree_native(struct heap_tree *tree, uint32_t parent, uint64_t address);
/* The node of a stack that has both kinds of frames. */
uint32_t heap_tree_pair(struct heap_tree *tree, uint32_t python, uint32_t native);
/* What an allocator gives at this node, made when it is new; 0 when the table is full. */
uint32_t heap_tree_record(struct heap_tree *tree, uint32_t node, uint32_t allocator);

#endif
