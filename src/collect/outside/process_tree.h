/*
 * process_tree: the processes that a process has started, as the kernel lists them now. One whose parent has ended is
 * no longer among them.
 */
#ifndef SONDE_COLLECT_OUTSIDE_PROCESS_TREE_H
#define SONDE_COLLECT_OUTSIDE_PROCESS_TREE_H

#include <stddef.h>
#include <stdint.h>

/* Tells of each child of the process. */
void process_tree_children(uint32_t pid, void (*child)(void *context, uint32_t pid), void *context);

/* A process and all below it, each behind its parent. A zeroed struct is empty; it owns its array. */
struct process_tree {
    uint32_t *pids;
    size_t count, capacity;
};

struct err;
int process_tree_list(struct process_tree *tree, uint32_t pid, struct err *err);
void process_tree_clear(struct process_tree *tree);

/* The parent of a process; 0 when it has none, or is gone. */
uint32_t process_tree_parent(uint32_t pid);

#endif
