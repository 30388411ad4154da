#include "analyse/bottom_up.h"

#include <stdlib.h>

#include "analyse/functions.h"
#include "base/err.h"
#include "base/map.h"
#include "store/recording.h"

/* Self time of one node of the exact tree on its way up: it has reached `at`, and counts in `group`. */
struct climber {
    uint32_t group; /* node of the inverted tree */
    uint32_t at;    /* node of the exact tree */
    uint64_t calls, samples, self;
};

struct climb {
    const struct tree *exact;
    struct tree *tree;
    uint32_t capacity;
    struct map groups; /* (node of the inverted tree, code) → its child for that code */
    uint32_t *above;   /* by exact node: the nearest ancestor that is another function */
    struct climber *climbers;
    uint32_t climber_count;
};

static uint32_t group_of(struct climb *climb, uint32_t parent, uint32_t code)
{
    uint32_t group = map_get(&climb->groups, map_pair(parent, code));
    if (group != MAP_NONE)
        return group;
    struct tree *tree = climb->tree;
    if (tree->count == climb->capacity) {
        uint32_t capacity = climb->capacity * 2 + 64;
        struct tree_node *nodes = realloc(tree->nodes, capacity * sizeof *nodes);
        if (!nodes)
            return MAP_NONE;
        tree->nodes = nodes;
        climb->capacity = capacity;
    }
    group = tree->count;
    if (!map_set(&climb->groups, map_pair(parent, code), group))
        return MAP_NONE;
    tree->nodes[tree->count++] = (struct tree_node){.code = code, .parent = parent};
    return group;
}

static int add(struct climb *climb, uint32_t parent, uint32_t code, struct climber *climber)
{
    climber->group = group_of(climb, parent, code);
    if (climber->group == MAP_NONE)
        return -1;
    struct tree_node *group = &climb->tree->nodes[climber->group];
    group->calls += climber->calls;
    group->total_samples += climber->samples;
    group->total += climber->self;
    return 0;
}

static int start(struct climb *climb)
{
    const struct tree_node *nodes = climb->exact->nodes;
    for (uint32_t i = 1; i < climb->exact->count; i++) {
        uint32_t parent = nodes[i].parent;
        climb->above[i] = nodes[parent].code == nodes[i].code ? climb->above[parent] : parent;
        struct climber climber = {
            .at = i, .calls = nodes[i].calls, .samples = nodes[i].samples, .self = nodes[i].self};
        if (!nodes[i].code || (!climber.calls && !climber.samples && !climber.self))
            continue;
        if (add(climb, 0, nodes[i].code, &climber) < 0)
            return -1;
        climb->climbers[climb->climber_count++] = climber;
    }
    return 0;
}

static int climb_level(struct climb *climb, uint64_t cutoff_ns)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < climb->climber_count; i++) {
        struct climber climber = climb->climbers[i];
        uint32_t group = climber.group;
        climber.at = climb->above[climber.at];
        if (!climb->exact->nodes[climber.at].code || climb->tree->nodes[group].total <= cutoff_ns)
            continue;
        if (add(climb, group, climb->exact->nodes[climber.at].code, &climber) < 0)
            return -1;
        climb->climbers[kept++] = climber;
    }
    climb->climber_count = kept;
    return 0;
}

/* A flat profile has one step up only. */
static int add_flat(struct climb *climb, const struct functions *functions)
{
    for (uint32_t i = 0; i < functions->row_count; i++) {
        const struct function_row *row = &functions->rows[i];
        struct climber climber = {.calls = row->calls, .self = row->self};
        if (add(climb, 0, row->code, &climber) < 0)
            return -1;
    }
    for (uint32_t i = 0; i < functions->edge_count; i++) {
        const struct edge_row *edge = &functions->edges[i];
        struct climber climber = {.calls = edge->calls, .self = edge->self};
        uint32_t callee = map_get(&climb->groups, map_pair(0, edge->callee));
        if (edge->caller == edge->callee || callee == MAP_NONE)
            continue;
        if (add(climb, callee, edge->caller, &climber) < 0)
            return -1;
    }
    return 0;
}

/* What no caller took is the node's own. */
static void settle(struct tree *tree)
{
    struct tree_node *nodes = tree->nodes;
    for (uint32_t i = 0; i < tree->count; i++)
        nodes[i].self = nodes[i].total;
    for (uint32_t i = tree->count; i-- > 1;) {
        uint64_t *left_ns = &nodes[nodes[i].parent].self;
        if (!nodes[i].parent)
            nodes[0].total += nodes[i].total;
        else
            *left_ns -= nodes[i].total < *left_ns ? nodes[i].total : *left_ns;
    }
}

static int fill(struct climb *climb, const struct functions *flat)
{
    uint32_t count = climb->exact->count;
    climb->above = calloc(count, sizeof *climb->above);
    climb->climbers = calloc(count, sizeof *climb->climbers);
    if (!climb->above || !climb->climbers || group_of(climb, 0, 0) == MAP_NONE || start(climb) < 0)
        return -1;
    uint64_t cutoff_ns = (uint64_t)((double)climb->exact->nodes[0].total * BOTTOM_UP_MIN_SHARE);
    for (int level = 1; level < BOTTOM_UP_MAX_LEVELS && climb->climber_count; level++)
        if (climb_level(climb, cutoff_ns) < 0)
            return -1;
    if (add_flat(climb, flat) < 0)
        return -1;
    climb->tree->nodes[0].total = climb->exact->nodes[0].self;
    climb->tree->nodes[0].total_samples = climb->exact->nodes[0].samples;
    settle(climb->tree);
    return 0;
}

static int turn(const struct tree *exact, const struct functions *flat, struct tree *tree, struct err *err)
{
    struct climb climb = {.exact = exact, .tree = tree};
    int result = fill(&climb, flat);
    map_clear(&climb.groups);
    free(climb.above);
    free(climb.climbers);
    return result < 0 ? err_set(err, "not enough memory to turn the call tree round") : 0;
}

int bottom_up_fill_from(const struct tree *exact, struct tree *tree, struct err *err)
{
    return turn(exact, &(struct functions){0}, tree, err);
}

int bottom_up_fill(const struct recording *recording, const struct selection *selection, struct tree *tree,
                   struct err *err)
{
    struct recording flat = tree_flat_part(recording);
    struct functions functions;
    if (functions_build(&flat, selection, &functions, err) < 0)
        return -1;
    struct tree exact = {0};
    int result = tree_build_exact(recording, selection, &exact, err);
    if (result == 0)
        result = turn(&exact, &functions, tree, err);
    tree_clear(&exact);
    functions_clear(&functions);
    return result;
}
