#include "analyse/prune.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/callgraph.h"
#include "base/err.h"

static int out_of_memory(struct err *err)
{
    return err_set(err, "out of memory while pruning the call graph");
}

static void *new_array(size_t count, size_t size)
{
    return calloc(count ? count : 1, size);
}

static void drop_loose_calls(struct callgraph *graph)
{
    for (uint32_t i = 0; i < graph->call_count; i++) {
        struct callgraph_call *call = &graph->calls[i];
        call->kept = call->kept && graph->functions[call->caller].kept && graph->functions[call->callee].kept;
    }
}

static bool under_a_path(const char *file, const struct prune_limits *limits)
{
    for (size_t i = 0; i < limits->path_count; i++)
        if (strncmp(file, limits->paths[i], strlen(limits->paths[i])) == 0)
            return true;
    return !limits->path_count || !file[0];
}

void prune_by_limits(struct callgraph *graph, const struct prune_limits *limits)
{
    /* Without any time there are no shares to prune by. */
    bool timed = graph->total > 0;

    for (uint32_t i = 0; i < graph->function_count; i++) {
        struct callgraph_function *function = &graph->functions[i];
        if ((timed && function->total_share < limits->function_share) ||
            !under_a_path(function->file, limits))
            function->kept = false;
    }
    for (uint32_t i = 0; i < graph->call_count; i++)
        if (timed && graph->calls[i].total_share < limits->call_share)
            graph->calls[i].kept = false;
    drop_loose_calls(graph);
}

void prune_to_hottest(struct callgraph *graph, uint32_t count)
{
    for (uint32_t i = 0; i < graph->function_count; i++) {
        struct callgraph_function *function = &graph->functions[i];
        function->kept = function->kept && count;
        count -= function->kept;
    }
    drop_loose_calls(graph);
}

/* "json/__init__:1:f" may also be called "__init__:1:f". */
static bool fits(const char *glob, const char *name)
{
    static const char package[] = "/__init__:";
    const char *slash = strchr(name, '/');

    if (fnmatch(glob, name, FNM_NOESCAPE) == 0)
        return true;
    return slash && strncmp(slash, package, strlen(package)) == 0 &&
           fnmatch(glob, slash + 1, FNM_NOESCAPE) == 0;
}

bool prune_matches(const struct callgraph_function *function, const char *glob)
{
    return fits(glob, function->name) || (function->short_name && fits(glob, function->short_name));
}

static bool matches_own_name(const struct callgraph_function *function, const char *glob)
{
    const char *shorter = function->short_name ? function->short_name : function->name;

    return fnmatch(glob, function->name + function->function_at, FNM_NOESCAPE) == 0 ||
           fnmatch(glob, shorter + function->function_at, FNM_NOESCAPE) == 0;
}

/* The calls as lists of neighbours, seen from the callers or from the callees. */
struct links {
    uint32_t *first; /* function_count + 1 entries */
    uint32_t *to;
};

static void clear_links(struct links *links)
{
    free(links->first);
    free(links->to);
}

static int make_links(const struct callgraph *graph, enum prune_direction direction, struct links *links,
                      struct err *err)
{
    bool down = direction == PRUNE_CALLEES;

    links->first = new_array((size_t)graph->function_count + 2, sizeof *links->first);
    links->to = new_array(graph->call_count, sizeof *links->to);
    if (!links->first || !links->to)
        return out_of_memory(err);
    /* Counted two places up, so that filling moves each start to where the next one must be. */
    uint32_t *start = links->first + 1;
    for (uint32_t i = 0; i < graph->call_count; i++)
        if (graph->calls[i].kept)
            start[1 + (down ? graph->calls[i].caller : graph->calls[i].callee)]++;
    for (uint32_t i = 0; i < graph->function_count; i++)
        start[i + 1] += start[i];
    for (uint32_t i = 0; i < graph->call_count; i++) {
        const struct callgraph_call *call = &graph->calls[i];
        if (call->kept)
            links->to[start[down ? call->caller : call->callee]++] = down ? call->callee : call->caller;
    }
    return 0;
}

/* Breadth first, so that a function reached in several ways counts with the shortest. */
struct frontier {
    uint32_t *queue;
    uint32_t *distance;
    bool *seen;
    uint32_t count;
};

static int make_frontier(const struct callgraph *graph, struct frontier *frontier, struct err *err)
{
    frontier->queue = new_array(graph->function_count, sizeof *frontier->queue);
    frontier->distance = new_array(graph->function_count, sizeof *frontier->distance);
    frontier->seen = new_array(graph->function_count, sizeof *frontier->seen);
    return frontier->queue && frontier->distance && frontier->seen ? 0 : out_of_memory(err);
}

static void clear_frontier(struct frontier *frontier)
{
    free(frontier->queue);
    free(frontier->distance);
    free(frontier->seen);
}

static void reach(struct frontier *frontier, uint32_t function, uint32_t distance)
{
    if (frontier->seen[function])
        return;
    frontier->seen[function] = true;
    frontier->distance[function] = distance;
    frontier->queue[frontier->count++] = function;
}

static int keep_reached(struct callgraph *graph, struct frontier *frontier, enum prune_direction direction,
                        int64_t depth, struct err *err)
{
    struct links links = {0};
    int result = make_links(graph, direction, &links, err);

    for (uint32_t i = 0; result == 0 && i < frontier->count; i++) {
        uint32_t function = frontier->queue[i], distance = frontier->distance[function];
        if (depth >= 0 && distance >= depth)
            continue;
        for (uint32_t j = links.first[function]; j < links.first[function + 1]; j++)
            reach(frontier, links.to[j], distance + 1);
    }
    for (uint32_t i = 0; result == 0 && i < graph->function_count; i++)
        graph->functions[i].kept = frontier->seen[i];
    drop_loose_calls(graph);
    clear_links(&links);
    return result;
}

static void select_starts(const struct callgraph *graph, const char *glob, struct frontier *frontier)
{
    for (uint32_t i = 0; i < graph->function_count; i++)
        if (graph->functions[i].kept && prune_matches(&graph->functions[i], glob))
            reach(frontier, i, 0);
    if (frontier->count || strchr(glob, ':'))
        return;
    for (uint32_t i = 0; i < graph->function_count; i++)
        if (graph->functions[i].kept && matches_own_name(&graph->functions[i], glob))
            reach(frontier, i, 0);
}

int prune_to(struct callgraph *graph, const char *glob, enum prune_direction direction, int64_t depth,
             struct err *err)
{
    struct frontier frontier = {0};
    int result = make_frontier(graph, &frontier, err);

    if (result == 0) {
        select_starts(graph, glob, &frontier);
        if (frontier.count)
            result = keep_reached(graph, &frontier, direction, depth, err);
        else
            result =
                err_set(err,
                        "no function fits '%s'; names are module:line:function, --list-functions '*' shows "
                        "them (with -n 0 -e 0 also those below the thresholds)",
                        glob);
    }
    clear_frontier(&frontier);
    return result;
}

/* Marks what is called by something outside itself and its cycle. */
static void mark_called(const struct callgraph *graph, bool *called)
{
    for (uint32_t i = 0; i < graph->call_count; i++) {
        const struct callgraph_call *call = &graph->calls[i];
        uint32_t cycle = graph->functions[call->callee].cycle;
        bool inside = cycle && cycle == graph->functions[call->caller].cycle;
        if (call->kept && !inside && call->caller != call->callee)
            called[call->callee] = true;
    }
}

int prune_to_entries(struct callgraph *graph, int64_t depth, struct err *err)
{
    struct frontier frontier = {0};
    bool *called = new_array(graph->function_count, sizeof *called);
    int result = called ? make_frontier(graph, &frontier, err) : out_of_memory(err);

    if (result == 0) {
        mark_called(graph, called);
        for (uint32_t i = 0; i < graph->function_count; i++)
            if (graph->functions[i].kept && !called[i])
                reach(&frontier, i, 0);
        result = keep_reached(graph, &frontier, PRUNE_CALLEES, depth, err);
    }
    clear_frontier(&frontier);
    free(called);
    return result;
}
