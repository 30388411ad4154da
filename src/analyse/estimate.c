#include "analyse/estimate.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/functions.h"
#include "base/err.h"
#include "store/recording.h"

struct estimate {
    struct functions functions;
    uint32_t *starts; /* by code: where its edges as a caller begin in `order`; code_count + 1 entries */
    uint32_t *order;  /* edges by caller */
    struct tree_node *nodes; /* the tree's */
    uint32_t count, capacity;
    uint32_t code_count;
    uint64_t cutoff_ns;
};

static uint64_t scale(uint64_t value, uint64_t part, uint64_t whole)
{
    return whole ? (uint64_t)((double)value * ((double)part / (double)whole) + 0.5) : 0;
}

static int index_callers(struct estimate *estimate)
{
    const struct functions *functions = &estimate->functions;
    estimate->starts = calloc((size_t)estimate->code_count + 2, sizeof *estimate->starts);
    estimate->order = calloc((size_t)functions->edge_count + 1, sizeof *estimate->order);
    if (!estimate->starts || !estimate->order)
        return -1;
    uint32_t *next = estimate->starts + 1;
    for (uint32_t i = 0; i < functions->edge_count; i++)
        next[functions->edges[i].caller + 1]++;
    for (uint32_t code = 0; code < estimate->code_count; code++)
        next[code + 1] += next[code];
    /* Filling moves each start to the next caller's, which the shift by one undoes. */
    for (uint32_t i = 0; i < functions->edge_count; i++)
        estimate->order[next[functions->edges[i].caller]++] = i;
    return 0;
}

static int add_node(struct estimate *estimate, struct tree_node node)
{
    if (estimate->count == estimate->capacity) {
        uint32_t capacity = estimate->capacity * 2 + 64;
        struct tree_node *nodes = realloc(estimate->nodes, capacity * sizeof *nodes);
        if (!nodes)
            return -1;
        estimate->nodes = nodes;
        estimate->capacity = capacity;
    }
    estimate->nodes[estimate->count++] = node;
    return 0;
}

/* The part of a function's calls and time that no recorded caller accounts for. */
static struct tree_node rootless_part(const struct functions *functions, const struct function_row *row,
                                      const struct edge_row *edges, const struct edge_row *end)
{
    uint64_t edge_calls = 0, edge_ns = 0;
    for (const struct edge_row *edge = edges; edge < end && edge->callee == row->code; edge++) {
        edge_calls += edge->calls;
        edge_ns += edge->caller == row->code ? 0 : edge->total;
    }
    struct tree_node node = {.code = row->code, .depth = 1};
    if (row->calls <= edge_calls && functions->edge_count)
        return node;
    node.calls = row->calls - edge_calls;
    if (node.calls >= row->primitive_calls)
        node.total = row->total;
    else
        node.total = row->total > edge_ns ? row->total - edge_ns : scale(row->total, node.calls, row->calls);
    node.self = scale(row->self, node.total, row->total);
    return node;
}

static int add_roots(struct estimate *estimate)
{
    const struct functions *functions = &estimate->functions;
    const struct edge_row *edge = functions->edges, *end = edge + functions->edge_count;
    const struct function_row *largest = NULL;
    uint32_t before = estimate->count;
    for (uint32_t i = 0; i < functions->row_count; i++) {
        const struct function_row *row = &functions->rows[i];
        while (edge < end && edge->callee < row->code)
            edge++;
        struct tree_node node = rootless_part(functions, row, edge, end);
        if ((node.calls || node.total) && node.total >= estimate->cutoff_ns && add_node(estimate, node) < 0)
            return -1;
        if (!largest || row->total > largest->total)
            largest = row;
    }
    if (estimate->count > before || !largest)
        return 0;
    return add_node(estimate, (struct tree_node){.code = largest->code,
                                                 .depth = 1,
                                                 .calls = largest->calls,
                                                 .self = largest->self,
                                                 .total = largest->total});
}

static bool is_on_path(const struct tree_node *nodes, uint32_t node, uint32_t code)
{
    for (; node; node = nodes[node].parent)
        if (nodes[node].code == code)
            return true;
    return false;
}

static bool calls_nothing(const struct estimate *estimate, uint32_t code)
{
    return estimate->starts[code] == estimate->starts[code + 1];
}

/* What callees may hold of their pair's time: 1.0, or less where recursion made the pairs overlap, so that the
 * callees together fit into the caller. Functions that call nothing cannot overlap and keep theirs. */
static double callee_part(const struct estimate *estimate, const struct tree_node *caller,
                          uint64_t row_total_ns)
{
    double others_ns = 0, left_ns = (double)(caller->total - caller->self);
    for (uint32_t i = estimate->starts[caller->code]; i < estimate->starts[caller->code + 1]; i++) {
        const struct edge_row *edge = &estimate->functions.edges[estimate->order[i]];
        double edge_ns = (double)scale(edge->total, caller->total, row_total_ns);
        if (calls_nothing(estimate, edge->callee))
            left_ns -= edge_ns;
        else if (edge->callee != caller->code)
            others_ns += edge_ns;
    }
    left_ns = left_ns < 0 ? 0 : left_ns;
    return others_ns > left_ns ? left_ns / others_ns : 1.0;
}

static int add_callees(struct estimate *estimate, uint32_t at)
{
    const struct tree_node caller = estimate->nodes[at];
    const struct function_row *row = functions_find(&estimate->functions, caller.code);
    if (!row || caller.depth >= ESTIMATE_MAX_DEPTH)
        return 0;
    double part = callee_part(estimate, &caller, row->total);
    for (uint32_t i = estimate->starts[caller.code]; i < estimate->starts[caller.code + 1]; i++) {
        const struct edge_row *edge = &estimate->functions.edges[estimate->order[i]];
        const struct function_row *callee = functions_find(&estimate->functions, edge->callee);
        uint64_t total = scale(edge->total, caller.total, row->total);
        if (!calls_nothing(estimate, edge->callee))
            total = (uint64_t)((double)total * part);
        total = total < caller.total ? total : caller.total;
        if (!callee || total < estimate->cutoff_ns || estimate->count >= ESTIMATE_MAX_NODES ||
            is_on_path(estimate->nodes, at, edge->callee))
            continue;
        /* In recursion the self time of inner calls hangs on other edges: take a share of all of it. */
        bool recursive = callee->calls != callee->primitive_calls;
        uint64_t self = recursive ? scale(callee->self, total, callee->total)
                                  : scale(edge->self, caller.total, row->total);
        struct tree_node node = {.code = edge->callee,
                                 .parent = at,
                                 .depth = caller.depth + 1,
                                 .calls = scale(edge->calls, caller.total, row->total),
                                 .self = self < total ? self : total,
                                 .total = total};
        if (add_node(estimate, node) < 0)
            return -1;
    }
    return 0;
}

static int append(struct estimate *estimate)
{
    uint32_t at = estimate->count;
    if (index_callers(estimate) < 0 || add_roots(estimate) < 0)
        return -1;
    for (; at < estimate->count; at++) {
        if (!estimate->nodes[at].parent)
            estimate->nodes[0].total += estimate->nodes[at].total;
        if (add_callees(estimate, at) < 0)
            return -1;
    }
    return 0;
}

int estimate_append(const struct recording *recording, struct tree *tree, struct err *err)
{
    struct recording flat = tree_flat_part(recording);
    struct estimate estimate = {.nodes = tree->nodes,
                                .count = tree->count,
                                .capacity = tree->count,
                                .code_count = recording->codes_count};
    if (functions_build(&flat, NULL, &estimate.functions, err) < 0)
        return -1;
    estimate.cutoff_ns = (uint64_t)((double)estimate.functions.total * ESTIMATE_MIN_SHARE);
    int result = append(&estimate);
    tree->nodes = estimate.nodes;
    tree->count = estimate.count;
    functions_clear(&estimate.functions);
    free(estimate.starts);
    free(estimate.order);
    return result < 0 ? err_set(err, "not enough memory to estimate the call tree") : 0;
}
