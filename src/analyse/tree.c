#include "analyse/tree.h"

#include <stdlib.h>

#include "analyse/bottom_up.h"
#include "analyse/estimate.h"
#include "analyse/weights.h"
#include "base/err.h"
#include "base/map.h"
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

bool tree_selection_has_sample(const struct selection *selection, const struct recording *recording,
                               const struct sample_row *sample)
{
    bool idle = selection && selection->idle, gil = selection && selection->gil;
    if (sample->state & SAMPLE_LEFT_OUT)
        return false;
    if ((!idle && !(sample->state & SAMPLE_RUNNING)) || (gil && !(sample->state & SAMPLE_GIL)))
        return false;
    if (selection && (sample->time_ns < selection->begin_ns ||
                      (selection->end_ns && sample->time_ns >= selection->end_ns)))
        return false;
    return tree_selection_has(selection, recording, sample->thread);
}

struct recording tree_flat_part(const struct recording *recording)
{
    struct recording flat = *recording;
    flat.calls_count = 0;
    flat.samples_count = 0;
    flat.call_events_count = 0;
    flat.heap_count = 0;
    flat.allocations_count = 0;
    flat.nodes_count = 0;
    return flat;
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
    if (nodes[a].total != nodes[b].total)
        return nodes[a].total > nodes[b].total;
    return nodes[a].code != nodes[b].code ? nodes[a].code < nodes[b].code : nodes[a].line < nodes[b].line;
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
    if (!head || !nodes[head].next_sibling) /* most nodes */
        return head;
    uint32_t runs[32] = {0};
    int run_count = 0;
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
        run_count = i < run_count ? run_count : i + 1;
    }
    uint32_t sorted = 0;
    for (int i = 0; i < run_count; i++)
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

struct adding {
    struct tree_node *nodes;
    bool memory;
};

/* A thread without a stack is in no function: shares of time are of what is in one. Memory is the process's, whoever
 * took it: without a stack it is the root's own. */
static void add_weight(const struct weight *weight, void *context)
{
    const struct adding *adding = context;
    struct tree_node *node = &adding->nodes[weight->node];
    if (!weight->node && !adding->memory)
        return;
    node->calls += weight->calls;
    node->samples += weight->samples;
    node->self += weight->amount;
    node->recursive = true;
}

/* Sums the chosen rows into the nodes; `recursive` serves as the mark of a node that has rows below it. */
static int add_rows(const struct recording *recording, const struct selection *selection,
                    struct tree_node *nodes, struct err *err)
{
    struct adding adding = {nodes, measure_is_memory(measure_of(recording, selection))};
    if (weights_each(recording, selection, add_weight, &adding, err) < 0)
        return -1;
    for (uint32_t i = recording->nodes_count; i-- > 0;) {
        struct tree_node *parent = &nodes[recording->nodes[i].parent];
        nodes[i].total += nodes[i].self;
        nodes[i].total_samples += nodes[i].samples;
        if (!i || !nodes[i].recursive)
            continue;
        parent->total += nodes[i].total;
        parent->total_samples += nodes[i].total_samples;
        parent->recursive = true;
    }
    return 0;
}

static void add_node(struct tree_node *sum, const struct tree_node *node)
{
    sum->calls += node->calls;
    sum->samples += node->samples;
    sum->total_samples += node->total_samples;
    sum->self += node->self;
    sum->total += node->total;
}

/* Nodes of one function that differ only in the line they were left at are one, unless lines are asked for. */
struct squeezing {
    const struct recording *recording;
    struct tree_node *nodes;
    uint32_t *places; /* by node of the recording: where it went */
    struct map seen;  /* (parent's place, code) → place, when merging */
    bool lines;       /* are asked for */
    bool merging;
};

static bool has_lines(const struct recording *recording)
{
    for (uint32_t i = 1; i < recording->nodes_count; i++)
        if (recording->nodes[i].line)
            return true;
    return false;
}

/* Where to put the node: an earlier place, the next, or MAP_NONE when memory ran out. */
static uint32_t place_of(struct squeezing *squeezing, const struct node *node, uint32_t next)
{
    if (!squeezing->merging)
        return next;
    uint64_t key = map_pair(squeezing->places[node->parent], node->code);
    uint32_t place = map_get(&squeezing->seen, key);
    if (place != MAP_NONE)
        return place;
    return map_set(&squeezing->seen, key, next) ? next : MAP_NONE;
}

/* Moves the nodes that are used to the front. How many there are; 0 when memory ran out. */
static uint32_t squeeze(struct squeezing *squeezing, struct err *err)
{
    struct tree_node *nodes = squeezing->nodes;
    uint32_t used = 1;
    for (uint32_t i = 1; i < squeezing->recording->nodes_count; i++) {
        const struct node *node = &squeezing->recording->nodes[i];
        if (!nodes[i].recursive)
            continue;
        uint32_t place = place_of(squeezing, node, used);
        if (place == MAP_NONE) {
            err_set(err, "not enough memory for a call tree of %u nodes", squeezing->recording->nodes_count);
            return 0;
        }
        squeezing->places[i] = place;
        if (place < used) {
            add_node(&nodes[place], &nodes[i]);
            continue;
        }
        nodes[used] = nodes[i];
        nodes[used].parent = squeezing->places[node->parent];
        nodes[used].code = node->code;
        nodes[used].line = squeezing->lines ? node->line : 0;
        used++;
    }
    return used;
}

static int fill_exact(const struct recording *recording, const struct selection *selection, struct tree *tree,
                      struct err *err)
{
    uint32_t count = recording->nodes_count ? recording->nodes_count : 1;
    struct squeezing squeezing = {.recording = recording, .lines = selection && selection->lines};
    squeezing.merging = !squeezing.lines && has_lines(recording);
    squeezing.places = calloc(count, sizeof *squeezing.places);
    squeezing.nodes = tree->nodes = calloc(count, sizeof *tree->nodes);
    /* Half: most functions are left at more than one line. */
    bool has_room = !squeezing.merging || map_reserve(&squeezing.seen, count / 2);
    if (!tree->nodes || !squeezing.places || !has_room)
        err_set(err, "not enough memory for a call tree of %u nodes", count);
    else if (add_rows(recording, selection, tree->nodes, err) == 0)
        tree->count = squeeze(&squeezing, err);
    free(squeezing.places);
    map_clear(&squeezing.seen);
    return tree->count ? 0 : -1;
}

int tree_build_exact(const struct recording *recording, const struct selection *selection, struct tree *tree,
                     struct err *err)
{
    *tree = (struct tree){.measure = measure_of(recording, selection)};
    if (fill_exact(recording, selection, tree, err) < 0 || tree_link(tree, recording->codes_count, err) < 0) {
        tree_clear(tree);
        return -1;
    }
    return 0;
}

int tree_build(const struct recording *recording, const struct selection *selection, struct tree *tree,
               struct err *err)
{
    if (!recording->functions_count || !tree_selection_is_all(selection) ||
        measure_is_memory(measure_of(recording, selection)))
        return tree_build_exact(recording, selection, tree, err);
    *tree = (struct tree){.measure = MEASURE_TIME, .estimated = true};
    if (fill_exact(recording, selection, tree, err) < 0 || estimate_append(recording, tree, err) < 0 ||
        tree_link(tree, recording->codes_count, err) < 0) {
        tree_clear(tree);
        return -1;
    }
    return 0;
}

static int link_or_clear(int filled, struct tree *tree, uint32_t code_count, struct err *err)
{
    if (filled == 0 && tree_link(tree, code_count, err) == 0)
        return 0;
    tree_clear(tree);
    return -1;
}

int tree_build_bottom_up(const struct recording *recording, const struct selection *selection,
                         struct tree *tree, struct err *err)
{
    *tree = (struct tree){.measure = measure_of(recording, selection)};
    return link_or_clear(bottom_up_fill(recording, selection, tree, err), tree, recording->codes_count, err);
}

int tree_build_bottom_up_from(const struct tree *exact, uint32_t code_count, struct tree *tree,
                              struct err *err)
{
    *tree = (struct tree){.measure = exact->measure};
    return link_or_clear(bottom_up_fill_from(exact, tree, err), tree, code_count, err);
}
