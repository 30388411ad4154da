#include "analyse/chosen.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/call_weights.h"
#include "analyse/heap_kept.h"
#include "analyse/heap_move.h"
#include "analyse/labels.h"
#include "analyse/node_table.h"
#include "analyse/own_code.h"
#include "analyse/rank_part.h"
#include "analyse/region_spans.h"
#include "analyse/tree.h"
#include "base/err.h"

/* Stacks that are being moved: those recorded, or those estimated from a flat profile. */
struct moving {
    const struct recording *from;
    struct recording *into;
    struct node_table table;
    uint32_t *place;                  /* by old node: what stands for it; 0 = nothing does */
    uint32_t *outermost;              /* by old node */
    bool *is_hidden;                  /* by old node */
    bool *is_taken;                   /* by old node: it stands in a chosen module, or below one that does */
    const bool *in_modules;           /* by code */
    const struct region_spans *spans; /* NULL = all time */
    const bool *threads;              /* by thread: whether it is of a chosen rank; NULL = all are */
    bool own, failed;
};

/* ---- modules ---- */

/* "json" takes in "json" and "json.decoder". */
static bool takes_in(const char *module, size_t size, const struct bytes *name)
{
    if (name->size < size || memcmp(name->data, module, size) != 0)
        return false;
    return name->size == size || name->data[size] == '.';
}

static bool is_named(const char *modules, const struct bytes *name)
{
    while (*modules) {
        size_t size = strcspn(modules, "\n");
        if (size && takes_in(modules, size, name))
            return true;
        modules += size + (modules[size] == '\n');
    }
    return false;
}

/* By code: whether it is in one of the modules. Without memory those after it are not: the caller sees `text` failed. */
static void mark_codes(const struct recording *recording, const char *modules, struct bytes *text,
                       bool *in_modules)
{
    for (uint32_t code = 1; code < recording->codes_count && !text->failed; code++) {
        bytes_reset(text);
        labels_module(recording, code, text);
        in_modules[code] = is_named(modules, text);
    }
}

/* All codes where no module is chosen. NULL when memory ran out. */
static bool *codes_in(const struct recording *recording, const char *modules)
{
    struct bytes text = {0};
    bool *in_modules = calloc((size_t)recording->codes_count + 1, sizeof *in_modules);
    bool is_all = !modules || !*modules;
    if (in_modules && is_all)
        memset(in_modules, true, recording->codes_count * sizeof *in_modules);
    else if (in_modules)
        mark_codes(recording, modules, &text, in_modules);
    bool failed = text.failed;
    bytes_clear(&text);
    if (!failed)
        return in_modules;
    free(in_modules);
    return NULL;
}

bool chosen_has_module(const struct recording *recording, const char *modules)
{
    bool *in_modules = codes_in(recording, modules);
    bool found = in_modules && recording->codes_count > 1 &&
                 memchr(in_modules + 1, true, (recording->codes_count - 1) * sizeof *in_modules) != NULL;
    free(in_modules);
    return found;
}

/* ---- stacks ---- */

static bool is_hidden(const struct moving *moving, const struct node *node)
{
    const struct code *code = &moving->from->codes[node->code];
    if (!moving->own)
        return false;
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
        moving->is_taken[i] = moving->in_modules[node.code] || moving->is_taken[node.parent];
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

/* Whether calls of the node are still told apart: it is not hidden, or stands for all that is below it. */
static bool is_kept(const struct moving *moving, uint32_t old)
{
    return !moving->is_hidden[old] || (!moving->place[old] && moving->outermost[old] == old);
}

static bool is_in_region(const struct moving *moving, uint32_t thread, uint64_t time_ns)
{
    return !moving->spans || region_spans_has(moving->spans, thread, time_ns);
}

static bool is_of_ranks(const struct moving *moving, uint32_t thread)
{
    return !moving->threads || moving->threads[thread];
}

static int move_calls(struct moving *moving)
{
    if (moving->spans)
        return 0;
    for (uint32_t i = 0; i < moving->from->calls_count; i++) {
        struct call_row row = moving->from->calls[i];
        uint32_t old = row.node;
        if (!moving->is_taken[old] || !is_of_ranks(moving, row.thread))
            continue;
        row.calls = is_kept(moving, old) ? row.calls : 0;
        if (move_row(moving, old, &row.node) < 0 || recording_add_calls(moving->into, &row) == UINT32_MAX)
            return -1;
    }
    return 0;
}

/* A call that vanishes is its caller's time, as in the sums. */
static int move_call_events(struct moving *moving)
{
    for (uint32_t i = 0; i < moving->from->call_events_count; i++) {
        struct call_event_row row = moving->from->call_events[i];
        if (!moving->is_taken[row.node] || !is_kept(moving, row.node) || !is_of_ranks(moving, row.thread) ||
            !is_in_region(moving, row.thread, row.start_ns))
            continue;
        if (move_row(moving, row.node, &row.node) < 0 ||
            recording_add_call_event(moving->into, &row) == UINT32_MAX)
            return -1;
    }
    return 0;
}

static void add_calls(const struct weight *weight, void *context)
{
    struct moving *moving = context;
    const struct call_row row = {
        .thread = weight->thread, .node = weight->node, .calls = weight->calls, .self_ns = weight->amount};
    moving->failed |= recording_add_calls(moving->into, &row) == UINT32_MAX;
}

/* Of single calls those that began in the region are added up anew. */
static int add_up_calls(struct moving *moving)
{
    const struct selection all = {0};
    if (!moving->spans || !moving->into->call_events_count)
        return 0;
    return call_weights_each(moving->into, &all, add_calls, moving, NULL) < 0 || moving->failed ? -1 : 0;
}

static int move_samples(struct moving *moving)
{
    for (uint32_t i = 0; i < moving->from->samples_count; i++) {
        struct sample_row row = moving->from->samples[i];
        if (!is_of_ranks(moving, row.thread))
            continue;
        bool stays = moving->is_taken[row.node] && is_in_region(moving, row.thread, row.time_ns);
        row.state |= stays ? 0 : SAMPLE_LEFT_OUT;
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
        failed = moving->is_taken[from->heap[i].node] &&
                 move_row(moving, from->heap[i].node, &of_node[from->heap[i].node]) < 0;
    if (!failed)
        return of_node;
    free(of_node);
    return NULL;
}

/* Frames that are left out can no longer tell what the interpreter keeps, so its rows are marked. */
static int move_heap_rows(struct moving *moving, const uint32_t *of_node, bool *kept, struct err *err)
{
    const struct recording *from = moving->from;
    for (uint32_t i = 0; i < from->heap_count; i++) {
        if (!moving->is_taken[from->heap[i].node] || !is_of_ranks(moving, from->heap[i].thread))
            continue;
        kept[moving->into->heap_count] = kept[i];
        if (recording_add_heap(moving->into, &from->heap[i]) == UINT32_MAX)
            return -1;
    }
    return heap_move_rows(moving->into->heap, moving->into->heap_count, of_node, kept, err);
}

static int move_heap(struct moving *moving)
{
    struct err err = {0};
    if (!moving->from->heap_count || moving->spans)
        return 0;
    bool *kept = heap_kept_rows(moving->from, &err);
    uint32_t *of_node = kept ? places_of_heap(moving) : NULL;
    int result = of_node ? move_heap_rows(moving, of_node, kept, &err) : -1;
    free(kept);
    free(of_node);
    return result;
}

/* Frees have no stack; those of blocks that are left out free nothing. */
static int move_allocations(struct moving *moving)
{
    for (uint32_t i = 0; i < moving->from->allocations_count; i++) {
        struct allocation_row row = moving->from->allocations[i];
        if (!is_of_ranks(moving, row.thread))
            continue;
        bool stays = moving->is_taken[row.node] && is_in_region(moving, row.thread, row.time_ns);
        if (row.allocator != HEAP_FREE && !stays)
            continue;
        if (move_row(moving, row.node, &row.node) < 0 ||
            recording_add_allocation(moving->into, &row) == UINT32_MAX)
            return -1;
    }
    return 0;
}

static int move_mpi_events(struct moving *moving)
{
    const struct recording *from = moving->from;
    for (uint32_t i = 0; i < from->messages_count; i++) {
        struct message_row row = from->messages[i];
        if (moving->is_taken[row.node] && is_of_ranks(moving, row.thread) &&
            is_in_region(moving, row.thread, row.time_ns) &&
            (move_row(moving, row.node, &row.node) < 0 ||
             recording_add_message(moving->into, &row) == UINT32_MAX))
            return -1;
    }
    for (uint32_t i = 0; i < from->collectives_count; i++) {
        struct collective_row row = from->collectives[i];
        if (moving->is_taken[row.node] && is_of_ranks(moving, row.thread) &&
            is_in_region(moving, row.thread, row.time_ns) &&
            (move_row(moving, row.node, &row.node) < 0 ||
             recording_add_collective(moving->into, &row) == UINT32_MAX))
            return -1;
    }
    return 0;
}

static int move_mpi(struct moving *moving)
{
    const struct recording *from = moving->from;
    for (uint32_t i = 0; i < from->mpi_totals_count && !moving->spans; i++) {
        struct mpi_total_row row = from->mpi_totals[i];
        if (moving->is_taken[row.node] && is_of_ranks(moving, row.thread) &&
            (move_row(moving, row.node, &row.node) < 0 ||
             recording_add_mpi_total(moving->into, &row) == UINT32_MAX))
            return -1;
    }
    return move_mpi_events(moving);
}

struct choice {
    const bool *in_modules;           /* by code */
    const struct region_spans *spans; /* NULL = all time */
    const bool *threads;              /* NULL = those of all ranks */
    bool is_all;                      /* no module is chosen: what has no stack stays, too */
    bool own;
};

static int move_stacks(const struct recording *from, const struct choice *choice, struct recording *into)
{
    struct moving moving = {.from = from,
                            .into = into,
                            .in_modules = choice->in_modules,
                            .spans = choice->spans,
                            .threads = choice->threads,
                            .own = choice->own};
    size_t count = (size_t)from->nodes_count + 1;
    moving.place = calloc(count, sizeof *moving.place);
    moving.outermost = calloc(count, sizeof *moving.outermost);
    moving.is_hidden = calloc(count, sizeof *moving.is_hidden);
    moving.is_taken = calloc(count, sizeof *moving.is_taken);
    bool has_room = moving.place && moving.outermost && moving.is_hidden && moving.is_taken;
    if (has_room)
        moving.is_taken[0] = choice->is_all;
    int result = has_room && move_nodes(&moving) == 0 && move_calls(&moving) == 0 &&
                         move_call_events(&moving) == 0 && add_up_calls(&moving) == 0 &&
                         move_samples(&moving) == 0 && move_heap(&moving) == 0 &&
                         move_allocations(&moving) == 0 && move_mpi(&moving) == 0
                     ? 0
                     : -1;
    free(moving.place);
    free(moving.outermost);
    free(moving.is_hidden);
    free(moving.is_taken);
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
    bare.call_events = NULL;
    bare.heap = NULL;
    bare.allocations = NULL;
    bare.messages = NULL;
    bare.collectives = NULL;
    bare.mpi_totals = NULL;
    bare.lines = NULL;
    bare.line_memory = NULL;
    bare.nodes_count = bare.nodes_capacity = 0;
    bare.calls_count = bare.calls_capacity = 0;
    bare.samples_count = bare.samples_capacity = 0;
    bare.call_events_count = bare.call_events_capacity = 0;
    bare.heap_count = bare.heap_capacity = 0;
    bare.allocations_count = bare.allocations_capacity = 0;
    bare.messages_count = bare.messages_capacity = 0;
    bare.collectives_count = bare.collectives_capacity = 0;
    bare.mpi_totals_count = bare.mpi_totals_capacity = 0;
    bare.lines_count = bare.lines_capacity = 0;
    bare.line_memory_count = bare.line_memory_capacity = 0;
    return bare;
}

static bool has_thread(const struct choice *choice, uint32_t thread)
{
    return !choice->threads || choice->threads[thread];
}

static int move_lines(const struct recording *whole, const struct choice *choice, struct recording *into)
{
    if (choice->spans)
        return 0;
    for (uint32_t i = 0; i < whole->lines_count; i++)
        if (choice->in_modules[whole->lines[i].code] && has_thread(choice, whole->lines[i].thread) &&
            recording_add_line(into, &whole->lines[i]) == UINT32_MAX)
            return -1;
    for (uint32_t i = 0; i < whole->line_memory_count; i++)
        if (choice->in_modules[whole->line_memory[i].code] &&
            has_thread(choice, whole->line_memory[i].thread) &&
            recording_add_line_memory(into, &whole->line_memory[i]) == UINT32_MAX)
            return -1;
    return 0;
}

static int move_flat(const struct recording *whole, const struct choice *choice, struct recording *into,
                     struct err *err)
{
    struct recording stacks = without_stacks(whole);
    struct tree tree;
    if (tree_build(&stacks, NULL, &tree, err) < 0)
        return -1;
    int result = copy_tree(&tree, &stacks) == 0 ? move_stacks(&stacks, choice, into) : -1;
    free(stacks.nodes);
    free(stacks.calls);
    tree_clear(&tree);
    return result;
}

static int move_all(const struct recording *whole, const struct choice *choice, struct recording *into,
                    struct err *err)
{
    if (move_stacks(whole, choice, into) < 0 || move_lines(whole, choice, into) < 0)
        return -1;
    if (whole->functions_count && !choice->spans && !measure_is_of_samples(whole, MEASURE_TIME) &&
        has_thread(choice, 0) && move_flat(whole, choice, into, err) < 0)
        return -1;
    return recording_compact_calls(into, err);
}

static int move_chosen(const struct recording *whole, struct chosen_by by, struct recording *into,
                       struct err *err)
{
    struct region_spans spans = {0};
    bool is_region = by.region && *by.region;
    if (is_region && region_spans_build(whole, by.region, &spans, err) < 0)
        return -1;
    bool is_ranks = by.ranks && *by.ranks;
    bool *threads = is_ranks ? rank_part_threads_new(whole, by.ranks, err) : NULL;
    bool *in_modules = codes_in(whole, by.modules);
    const struct choice choice = {.in_modules = in_modules,
                                  .threads = threads,
                                  .spans = is_region ? &spans : NULL,
                                  .is_all = !by.modules || !*by.modules,
                                  .own = by.own};
    bool has_room = in_modules && (threads || !is_ranks) && recording_init(into, err) == 0;
    int result = has_room ? move_all(whole, &choice, into, err) : -1;
    free(threads);
    free(in_modules);
    region_spans_clear(&spans);
    return result;
}

int chosen_build(const struct recording *whole, struct chosen_by by, struct chosen *chosen, struct err *err)
{
    struct recording *into = &chosen->recording;
    *into = without_stacks(whole);
    into->functions_count = into->edges_count = 0;
    if (!whole->codes_count)
        return 0;
    if (move_chosen(whole, by, into, err) == 0)
        return 0;
    chosen_clear(chosen);
    return err_set(err, "not enough memory for the chosen part of the recording");
}

static void free_stacks(struct recording *recording)
{
    free(recording->nodes);
    free(recording->calls);
    free(recording->samples);
    free(recording->call_events);
    free(recording->lines);
    free(recording->line_memory);
    free(recording->heap);
    free(recording->allocations);
    free(recording->messages);
    free(recording->collectives);
    free(recording->mpi_totals);
}

void chosen_clear(struct chosen *chosen)
{
    free_stacks(&chosen->recording);
    *chosen = (struct chosen){0};
}

void chosen_take(struct chosen *chosen, struct recording *whole)
{
    free_stacks(whole);
    *whole = chosen->recording;
    *chosen = (struct chosen){0};
}
