#include "analyse/tree.h"

#include <stdlib.h>

#include "analyse/bottom_up.h"
#include "analyse/estimate.h"
#include "base/err.h"
#include "store/recording.h"

void tree_clear(struct tree *tree)
{
    free(tree->nodes);
    *tree = (struct tree){0};
}

bool tree_selection_is_all(const struct selection *selection)
{
    return !selection || (!selection->process && !selection->thread);
}

bool tree_selection_has(const struct selection *selection, const struct recording *recording, uint32_t thread)
{
    if (tree_selection_is_all(selection))
        return true;
    if (selection->thread && selection->thread != thread)
        return false;
    return !selection->process || recording->threads[thread].process == selection->process;
}

void tree_walk(const struct tree *tree, tree_visit *enter, tree_visit *leave, void *context)
{
    const struct tree_node *nodes = tree->nodes;
    uint32_t at = 0;
    bool down = tree->count > 0;
    while (down) {
        if (enter)
            enter(tree, at, context);
        if (nodes[at].first_child) {
            at = nodes[at].first_child;
            continue;
        }
        for (;; at = nodes[at].parent) {
            if (leave)
                leave(tree, at, context);
            down = at && nodes[at].next_sibling;
            if (down || !at)
                break;
        }
        at = nodes[at].next_sibling;
    }
}

static bool is_hotter(const struct tree_node *nodes, uint32_t a, uint32_t b)
{
    if (nodes[a].total_ns != nodes[b].total_ns)
        return nodes[a].total_ns > nodes[b].total_ns;
    return nodes[a].code < nodes[b].code;
}

static uint32_t merge_siblings(struct tree_node *nodes, uint32_t a, uint32_t b)
{
    uint32_t head = 0, *end = &head;
    while (a && b) {
        uint32_t *first = is_hotter(nodes, b, a) ? &b : &a;
        *end = *first;
        end = &nodes[*first].next_sibling;
        *first = *end;
    }
    *end = a ? a : b;
    return head;
}

/* Merge sort of a linked list, bottom up: runs[i] is a sorted run of 2^i nodes. No memory, no recursion. */
static uint32_t sort_siblings(struct tree_node *nodes, uint32_t head)
{
    uint32_t runs[32] = {0};
    while (head) {
        uint32_t run = head;
        head = nodes[head].next_sibling;
        nodes[run].next_sibling = 0;
        int i = 0;
        for (; runs[i]; i++) {
            run = merge_siblings(nodes, runs[i], run);
            runs[i] = 0;
        }
        runs[i] = run;
    }
    uint32_t sorted = 0;
    for (int i = 0; i < 32; i++)
        sorted = merge_siblings(nodes, runs[i], sorted);
    return sorted;
}

static void mark_enter(const struct tree *tree, uint32_t node, void *context)
{
    uint32_t *active = context;
    tree->nodes[node].recursive = active[tree->nodes[node].code]++ > 0;
}

static void mark_leave(const struct tree *tree, uint32_t node, void *context)
{
    uint32_t *active = context;
    active[tree->nodes[node].code]--;
}

int tree_link(struct tree *tree, uint32_t code_count, struct err *err)
{
    uint32_t *active = calloc(code_count ? code_count : 1, sizeof *active);
    if (!active)
        return err_set(err, "not enough memory for a call tree of %u nodes", tree->count);
    struct tree_node *nodes = tree->nodes;
    for (uint32_t i = tree->count; i-- > 1;) {
        nodes[i].next_sibling = nodes[nodes[i].parent].first_child;
        nodes[nodes[i].parent].first_child = i;
    }
    for (uint32_t i = 0; i < tree->count; i++) {
        nodes[i].depth = i ? nodes[nodes[i].parent].depth + 1 : 0;
        nodes[i].first_child = sort_siblings(nodes, nodes[i].first_child);
    }
    tree_walk(tree, mark_enter, mark_leave, active);
    free(active);
    return 0;
}

/* Sums the chosen rows into the nodes; `recursive` serves as the mark of a node that has rows below it. */
static void add_rows(const struct recording *recording, const struct selection *selection,
                     struct tree_node *nodes)
{
    for (uint32_t i = 0; i < recording->calls_count; i++) {
        const struct call_row *row = &recording->calls[i];
        if (!tree_selection_has(selection, recording, row->thread))
            continue;
        struct tree_node *node = &nodes[row->node];
        node->calls += row->calls;
        node->self_ns += row->self_ns;
        node->recursive = true;
    }
    for (uint32_t i = recording->nodes_count; i-- > 0;) {
        uint32_t parent = recording->nodes[i].parent;
        nodes[i].total_ns += nodes[i].self_ns;
        if (!i || !nodes[i].recursive)
            continue;
        nodes[parent].total_ns += nodes[i].total_ns;
        nodes[parent].recursive = true;
    }
}

/* Moves the nodes that are used to the front. `places` receives where each went. */
static uint32_t squeeze(const struct recording *recording, struct tree_node *nodes, uint32_t *places)
{
    uint32_t used = 1;
    for (uint32_t i = 1; i < recording->nodes_count; i++) {
        if (!nodes[i].recursive)
            continue;
        places[i] = used;
        nodes[used] = nodes[i];
        nodes[used].parent = places[recording->nodes[i].parent];
        nodes[used].code = recording->nodes[i].code;
        used++;
    }
    return used;
}

static int fill_exact(const struct recording *recording, const struct selection *selection, struct tree *tree,
                      struct err *err)
{
    uint32_t count = recording->nodes_count ? recording->nodes_count : 1;
    uint32_t *places = calloc(count, sizeof *places);
    tree->nodes = calloc(count, sizeof *tree->nodes);
    if (!tree->nodes || !places) {
        free(places);
        return err_set(err, "not enough memory for a call tree of %u nodes", count);
    }
    add_rows(recording, selection, tree->nodes);
    tree->count = squeeze(recording, tree->nodes, places);
    free(places);
    return 0;
}

int tree_build_exact(const struct recording *recording, const struct selection *selection, struct tree *tree,
                     struct err *err)
{
    *tree = (struct tree){0};
    if (fill_exact(recording, selection, tree, err) < 0 || tree_link(tree, recording->codes_count, err) < 0) {
        tree_clear(tree);
        return -1;
    }
    return 0;
}

int tree_build(const struct recording *recording, const struct selection *selection, struct tree *tree,
               struct err *err)
{
    if (!recording->functions_count || !tree_selection_is_all(selection))
        return tree_build_exact(recording, selection, tree, err);
    *tree = (struct tree){.estimated = true};
    if (fill_exact(recording, selection, tree, err) < 0 || estimate_append(recording, tree, err) < 0 ||
        tree_link(tree, recording->codes_count, err) < 0) {
        tree_clear(tree);
        return -1;
    }
    return 0;
}

int tree_build_bottom_up(const struct recording *recording, const struct selection *selection,
                         struct tree *tree, struct err *err)
{
    *tree = (struct tree){0};
    if (bottom_up_fill(recording, selection, tree, err) < 0 ||
        tree_link(tree, recording->codes_count, err) < 0) {
        tree_clear(tree);
        return -1;
    }
    return 0;
}
