#include "analyse/functions.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "store/recording.h"

/* Rows are dense by code while they are summed; edges are in order of first use, found by `places`. */
struct sums {
    struct functions *functions;
    struct map places;
    uint32_t *active;  /* by edge: how often the pair is on the stack now */
    uint32_t *edge_of; /* by node of the tree: its edge; MAP_NONE = none */
    uint32_t edge_capacity;
    bool failed;
};

void functions_clear(struct functions *functions)
{
    free(functions->rows);
    free(functions->edges);
    *functions = (struct functions){0};
}

static bool grow_edges(struct sums *sums)
{
    uint32_t capacity = sums->edge_capacity ? sums->edge_capacity * 2 : 256;
    struct edge_row *edges = realloc(sums->functions->edges, capacity * sizeof *edges);
    if (edges)
        sums->functions->edges = edges;
    uint32_t *active = realloc(sums->active, capacity * sizeof *active);
    if (active)
        sums->active = active;
    if (!edges || !active)
        return false;
    sums->edge_capacity = capacity;
    return true;
}

/* The edge's place, made when new; MAP_NONE when memory ran out. */
static uint32_t edge_place(struct sums *sums, uint32_t caller, uint32_t callee)
{
    struct functions *functions = sums->functions;
    uint64_t key = map_pair(callee, caller);
    uint32_t place = map_get(&sums->places, key);
    if (place != MAP_NONE)
        return place;
    place = functions->edge_count;
    if ((place == sums->edge_capacity && !grow_edges(sums)) || !map_set(&sums->places, key, place)) {
        sums->failed = true;
        return MAP_NONE;
    }
    functions->edges[place] = (struct edge_row){.caller = caller, .callee = callee};
    sums->active[place] = 0;
    functions->edge_count++;
    return place;
}

static void sum_function(struct function_row *row, const struct tree_node *node)
{
    row->calls += node->calls;
    row->samples += node->samples;
    row->self += node->self;
    if (node->recursive)
        return;
    row->primitive_calls += node->calls;
    row->total_samples += node->total_samples;
    row->total += node->total;
}

static void sum_edge(struct edge_row *edge, const struct tree_node *node, bool active)
{
    edge->calls += node->calls;
    edge->samples += node->samples;
    edge->self += node->self;
    if (active)
        return;
    edge->primitive_calls += node->calls;
    edge->total_samples += node->total_samples;
    edge->total += node->total;
}

static void enter(const struct tree *tree, uint32_t at, void *context)
{
    struct sums *sums = context;
    const struct tree_node *node = &tree->nodes[at];
    uint32_t caller = tree->nodes[node->parent].code;
    sums->edge_of[at] = MAP_NONE;
    if (!node->code)
        return;
    sum_function(&sums->functions->rows[node->code], node);
    if (!caller)
        return;
    uint32_t place = edge_place(sums, caller, node->code);
    sums->edge_of[at] = place;
    if (place != MAP_NONE)
        sum_edge(&sums->functions->edges[place], node, sums->active[place]++ > 0);
}

static void leave(const struct tree *tree, uint32_t at, void *context)
{
    (void)tree;
    struct sums *sums = context;
    if (sums->edge_of[at] != MAP_NONE)
        sums->active[sums->edge_of[at]]--;
}

static void sum_flat(struct sums *sums, const struct recording *recording)
{
    for (uint32_t i = 0; i < recording->functions_count; i++) {
        const struct flat_function *flat = &recording->functions[i];
        struct function_row *row = &sums->functions->rows[flat->code];
        row->calls += flat->calls;
        row->primitive_calls += flat->primitive_calls;
        row->self += flat->self_ns;
        row->total += flat->total_ns;
    }
    for (uint32_t i = 0; i < recording->edges_count; i++) {
        const struct flat_edge *flat = &recording->edges[i];
        uint32_t place = flat->caller ? edge_place(sums, flat->caller, flat->callee) : MAP_NONE;
        if (place == MAP_NONE)
            continue;
        struct edge_row *edge = &sums->functions->edges[place];
        edge->calls += flat->calls;
        edge->primitive_calls += flat->primitive_calls;
        edge->self += flat->self_ns;
        edge->total += flat->total_ns;
    }
}

bool functions_are_of_lines(const struct recording *recording)
{
    const char *mode = recording_meta(recording, "mode");
    bool meant =
        mode && (strcmp(mode, "line") == 0 || strcmp(mode, "lprof") == 0 || strcmp(mode, "line-memory") == 0);
    return (recording->lines_count || recording->line_memory_count || meant) && !recording->calls_count &&
           !recording->samples_count && !recording->functions_count;
}

/* Where only total times are known, they are the own times, too. */
static void sum_lines(struct sums *sums, const struct recording *recording, const struct selection *selection)
{
    for (uint32_t i = 0; i < recording->lines_count; i++) {
        const struct line_row *line = &recording->lines[i];
        if (!tree_selection_has(selection, recording, line->thread))
            continue;
        sums->functions->rows[line->code].self += line->max_ns ? line->self_ns : line->total_ns;
        sums->functions->rows[line->code].total += line->total_ns;
    }
    for (uint32_t i = 0; i < recording->line_memory_count; i++) {
        const struct line_memory_row *line = &recording->line_memory[i];
        if (tree_selection_has(selection, recording, line->thread))
            sums->functions->rows[line->code].calls += line->hits;
    }
}

int functions_compare_edges(const void *a, const void *b)
{
    const struct edge_row *left = a, *right = b;
    if (left->callee != right->callee)
        return left->callee < right->callee ? -1 : 1;
    return left->caller < right->caller ? -1 : left->caller > right->caller;
}

/* Drops functions that were never called and adds up the rest. */
static void finish(struct functions *functions)
{
    uint32_t kept = 0;
    for (uint32_t code = 1; code < functions->row_count; code++) {
        struct function_row row = functions->rows[code];
        if (!row.calls && !row.total_samples && !row.self && !row.total)
            continue;
        row.code = code;
        functions->rows[kept++] = row;
        functions->total += row.self;
        functions->total_calls += row.calls;
        functions->total_samples += row.samples;
        functions->total_primitive_calls += row.primitive_calls;
    }
    functions->row_count = kept;
    if (functions->edge_count)
        qsort(functions->edges, functions->edge_count, sizeof *functions->edges, functions_compare_edges);
}

void functions_find_whole(struct functions *functions)
{
    functions->whole = functions->total;
    for (uint32_t i = 0; i < functions->row_count; i++)
        if (functions->rows[i].total > functions->whole)
            functions->whole = functions->rows[i].total;
}

static void sum_tree(struct sums *sums, const struct tree *tree)
{
    sums->edge_of = malloc(tree->count * sizeof *sums->edge_of);
    sums->failed = !sums->edge_of;
    if (!sums->failed)
        tree_walk(tree, enter, leave, sums);
    free(sums->edge_of);
}

int functions_build_from(const struct recording *recording, const struct selection *selection,
                         const struct tree *tree, struct functions *functions, struct err *err)
{
    enum measure measure = measure_of(recording, selection);
    bool timed = !measure_is_memory(measure), by_samples = measure_is_of_samples(recording, measure);
    *functions = (struct functions){.row_count = recording->codes_count ? recording->codes_count : 1,
                                    .measure = measure,
                                    .sampled = !timed || by_samples,
                                    .from_lines = timed && functions_are_of_lines(recording)};
    struct sums sums = {.functions = functions};
    functions->rows = calloc(functions->row_count, sizeof *functions->rows);
    sums.failed = !functions->rows;
    if (!sums.failed)
        sum_tree(&sums, tree);
    if (!sums.failed && timed && !by_samples && tree_selection_is_all(selection))
        sum_flat(&sums, recording);
    if (!sums.failed && functions->from_lines)
        sum_lines(&sums, recording, selection);
    map_clear(&sums.places);
    free(sums.active);
    if (sums.failed) {
        functions_clear(functions);
        return err_set(err, "not enough memory for the function table");
    }
    finish(functions);
    functions->total += tree->nodes[0].self;
    if (functions->from_lines)
        functions_find_whole(functions);
    else
        functions->whole = functions->total;
    functions->total_samples += tree->nodes[0].samples;
    return 0;
}

int functions_build(const struct recording *recording, const struct selection *selection,
                    struct functions *functions, struct err *err)
{
    struct tree tree;
    *functions = (struct functions){0};
    if (tree_build_exact(recording, selection, &tree, err) < 0)
        return -1;
    int result = functions_build_from(recording, selection, &tree, functions, err);
    tree_clear(&tree);
    return result;
}

const struct function_row *functions_find(const struct functions *functions, uint32_t code)
{
    uint32_t low = 0, high = functions->row_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (functions->rows[middle].code < code)
            low = middle + 1;
        else
            high = middle;
    }
    return low < functions->row_count && functions->rows[low].code == code ? &functions->rows[low] : NULL;
}
