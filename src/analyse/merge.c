#include "analyse/merge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/functions.h"
#include "base/err.h"
#include "store/call_events.h"
#include "store/memory_rows.h"
#include "store/mpi_rows.h"
#include "store/natives.h"

/* Ids of one recording → ids of the result; strings and codes are carried over when first needed. */
struct remap {
    struct merge *merge;
    const struct recording *from;
    struct natives natives; /* of `from` */
    uint32_t *strings;      /* 0 = not carried over yet (string 0 needs no carrying) */
    uint32_t *codes;        /* 0 = not carried over yet */
    uint32_t *modules;      /* 0 = not carried over yet */
    uint32_t *nodes, *processes, *threads;
    bool failed;
};

/* What makes a code itself; its flags are only what was found out about it. Native codes without a name are
 * told apart by their addresses, or by what they swallowed. */
struct code_identity {
    uint32_t name, qualname, file, module, line, kind;
    uint32_t address_module, inlined_in;
    uint64_t address_offset;
};

static uint32_t *ids(struct remap *remap, uint32_t count)
{
    uint32_t *array = calloc((size_t)count + 1, sizeof *array);
    if (!array)
        remap->failed = true;
    return array;
}

static int remap_init(struct remap *remap, struct merge *merge, const struct recording *from)
{
    *remap = (struct remap){.merge = merge, .from = from};
    remap->strings = ids(remap, from->strings.count);
    remap->codes = ids(remap, from->codes_count);
    remap->modules = ids(remap, from->modules_count);
    if (natives_init(&remap->natives, from, NULL) < 0)
        remap->failed = true;
    if (recording_init(&merge->result, NULL) < 0 || strings_intern_text(&merge->codes, "") != 0)
        remap->failed = true;
    return remap->failed ? -1 : 0;
}

static void remap_clear(struct remap *remap)
{
    free(remap->strings);
    free(remap->codes);
    free(remap->modules);
    natives_clear(&remap->natives);
    free(remap->nodes);
    free(remap->processes);
    free(remap->threads);
}

static uint32_t carry_string(struct remap *remap, uint32_t string)
{
    if (string == 0 || remap->strings[string])
        return remap->strings[string];
    uint32_t id = strings_intern(&remap->merge->result.strings, recording_text(remap->from, string),
                                 strings_size(&remap->from->strings, string));
    if (id == UINT32_MAX) {
        remap->failed = true;
        return 0;
    }
    return remap->strings[string] = id;
}

static uint32_t carry_module(struct remap *remap, uint32_t module)
{
    struct merge *merge = remap->merge;
    if (module == 0 || remap->modules[module])
        return remap->modules[module];
    struct module carried = remap->from->modules[module];
    carried.path = carry_string(remap, carried.path);
    carried.build_id = carry_string(remap, carried.build_id);
    uint64_t key = map_pair(carried.path, carried.build_id);
    uint32_t id = map_get(&merge->modules, key);
    if (id == MAP_NONE) {
        id = recording_add_module(&merge->result, &carried);
        remap->failed |= !id || !map_set(&merge->modules, key, id);
    }
    return remap->modules[module] = remap->failed ? 0 : id;
}

/* The symbol in the result's ids. What swallows has been carried over before what it swallowed: a symbol
 * that names another is of a hostile file, and stands alone. */
static struct symbol carry_symbol(struct remap *remap, const struct symbol *symbol)
{
    return (struct symbol){.name = carry_string(remap, symbol->name),
                           .file = carry_string(remap, symbol->file),
                           .line = symbol->line,
                           .inlined_in = remap->codes[symbol->inlined_in]};
}

static void identify_native(struct remap *remap, uint32_t code, struct code_identity *identity,
                            struct symbol *symbol)
{
    const struct code_address *address = natives_address(&remap->natives, code);
    const struct symbol *named = natives_symbol(&remap->natives, code);
    if (named)
        *symbol = carry_symbol(remap, named);
    if (address) {
        identity->address_module = carry_module(remap, address->module);
        identity->address_offset = address->offset;
    } else if (named) {
        identity->name = symbol->name;
        identity->file = symbol->file;
        identity->line = symbol->line;
        identity->inlined_in = symbol->inlined_in;
    }
}

static void add_address(struct remap *remap, uint32_t code, const struct code_identity *identity)
{
    struct code_address address = {code, identity->address_module, identity->address_offset};
    if (address.module && recording_add_address(&remap->merge->result, &address) == UINT32_MAX)
        remap->failed = true;
}

/* Only what no recording before had a name for. */
static void add_symbol(struct remap *remap, uint32_t code, struct symbol symbol)
{
    struct merge *merge = remap->merge;
    if (remap->failed || !symbol.name || map_get(&merge->symbols, code) != MAP_NONE)
        return;
    symbol.code = code;
    uint32_t row = recording_add_symbol(&merge->result, &symbol);
    remap->failed |= row == UINT32_MAX || !map_set(&merge->symbols, code, row);
}

static uint32_t add_code(struct remap *remap, uint32_t from)
{
    struct merge *merge = remap->merge;
    const struct code *code = &remap->from->codes[from];
    struct code carried = *code;
    carried.name = carry_string(remap, code->name);
    carried.qualname = carry_string(remap, code->qualname);
    carried.file = carry_string(remap, code->file);
    carried.module = carry_string(remap, code->module);
    struct code_identity identity = {carried.name,   carried.qualname, carried.file,
                                     carried.module, carried.line,     carried.kind};
    struct symbol symbol = {0};
    identify_native(remap, from, &identity, &symbol);
    uint32_t id = strings_intern(&merge->codes, (const char *)&identity, sizeof identity);
    if (id < merge->result.codes_count)
        merge->result.codes[id].flags |= code->flags;
    else if (id == UINT32_MAX || recording_add_code(&merge->result, &carried) != id)
        remap->failed = true;
    else
        add_address(remap, id, &identity);
    add_symbol(remap, id, symbol);
    return remap->failed ? 0 : id;
}

static uint32_t carry_code(struct remap *remap, uint32_t code)
{
    if (code && !remap->codes[code])
        remap->codes[code] = add_code(remap, code);
    return remap->codes[code];
}

/* Functions that others were inlined in, in the order of their ids: what swallows comes first. */
static void add_inlinings(struct remap *remap)
{
    for (uint32_t i = 1; i < remap->from->codes_count && !remap->failed; i++)
        if (natives_symbol(&remap->natives, i) && !natives_address(&remap->natives, i))
            carry_code(remap, i);
}

static void add_mappings(struct remap *remap)
{
    for (uint32_t i = 0; i < remap->from->mappings_count && !remap->failed; i++) {
        struct mapping mapping = remap->from->mappings[i];
        mapping.process = remap->processes[mapping.process];
        mapping.module = carry_module(remap, mapping.module);
        if (recording_add_mapping(&remap->merge->result, &mapping) == UINT32_MAX)
            remap->failed = true;
    }
}

static void add_function(struct remap *remap, struct flat_function function)
{
    function.code = carry_code(remap, function.code);
    if (flat_add_function(&remap->merge->flat, &remap->merge->result, &function) < 0)
        remap->failed = true;
}

static void add_edge(struct remap *remap, struct flat_edge edge)
{
    edge.caller = carry_code(remap, edge.caller);
    edge.callee = carry_code(remap, edge.callee);
    if (flat_add_edge(&remap->merge->flat, &remap->merge->result, &edge) < 0)
        remap->failed = true;
}

static void add_flat_rows(struct remap *remap)
{
    for (uint32_t i = 0; i < remap->from->functions_count && !remap->failed; i++)
        add_function(remap, remap->from->functions[i]);
    for (uint32_t i = 0; i < remap->from->edges_count && !remap->failed; i++)
        add_edge(remap, remap->from->edges[i]);
}

static void add_function_table(struct remap *remap, const struct functions *functions)
{
    for (uint32_t i = 0; i < functions->row_count && !remap->failed; i++) {
        const struct function_row *row = &functions->rows[i];
        add_function(remap, (struct flat_function){row->code, row->calls, row->primitive_calls, row->self,
                                                   row->total});
    }
    for (uint32_t i = 0; i < functions->edge_count && !remap->failed; i++) {
        const struct edge_row *row = &functions->edges[i];
        add_edge(remap, (struct flat_edge){row->caller, row->callee, row->calls, row->primitive_calls,
                                           row->self, row->total});
    }
}

static void add_nodes(struct remap *remap)
{
    remap->nodes = ids(remap, remap->from->nodes_count);
    for (uint32_t i = 1; i < remap->from->nodes_count && !remap->failed; i++) {
        struct node node = remap->from->nodes[i];
        node.parent = remap->nodes[node.parent];
        node.code = carry_code(remap, node.code);
        remap->nodes[i] = node_table_find(&remap->merge->nodes, &remap->merge->result, &node);
        if (!remap->nodes[i])
            remap->failed = true;
    }
}

static void add_processes(struct remap *remap)
{
    remap->processes = ids(remap, remap->from->processes_count);
    uint32_t shift = remap->merge->result.processes_count - 1;
    for (uint32_t i = 1; i < remap->from->processes_count && !remap->failed; i++) {
        struct process process = remap->from->processes[i];
        /* A parent may have a larger id than its child, so it is computed, not looked up. */
        process.parent = process.parent ? process.parent + shift : 0;
        process.host = carry_string(remap, process.host);
        process.command = carry_string(remap, process.command);
        process.python = carry_string(remap, process.python);
        process.exe = carry_string(remap, process.exe);
        remap->processes[i] = recording_add_process(&remap->merge->result, &process);
        if (!remap->processes[i])
            remap->failed = true;
    }
}

static void add_threads(struct remap *remap)
{
    remap->threads = ids(remap, remap->from->threads_count);
    for (uint32_t i = 1; i < remap->from->threads_count && !remap->failed; i++) {
        struct thread thread = remap->from->threads[i];
        thread.process = remap->processes[thread.process];
        thread.name = carry_string(remap, thread.name);
        remap->threads[i] = recording_add_thread(&remap->merge->result, &thread);
        if (!remap->threads[i])
            remap->failed = true;
    }
}

static void add_calls(struct remap *remap)
{
    for (uint32_t i = 0; i < remap->from->calls_count && !remap->failed; i++) {
        struct call_row row = remap->from->calls[i];
        row.thread = remap->threads[row.thread];
        row.node = remap->nodes[row.node];
        if (recording_add_calls(&remap->merge->result, &row) == UINT32_MAX)
            remap->failed = true;
    }
}

static void add_lines(struct remap *remap)
{
    for (uint32_t i = 0; i < remap->from->lines_count && !remap->failed; i++) {
        struct line_row row = remap->from->lines[i];
        row.thread = remap->threads ? remap->threads[row.thread] : 0;
        row.code = carry_code(remap, row.code);
        if (recording_add_line(&remap->merge->result, &row) == UINT32_MAX)
            remap->failed = true;
    }
}

static void add_series(struct remap *remap)
{
    struct recording *result = &remap->merge->result;
    uint32_t shift = result->counters_count - 1;
    for (uint32_t i = 1; i < remap->from->counters_count && !remap->failed; i++) {
        struct counter counter = remap->from->counters[i];
        counter.name = carry_string(remap, counter.name);
        counter.unit = carry_string(remap, counter.unit);
        counter.process = remap->processes[counter.process];
        remap->failed |= !recording_add_counter(result, &counter);
    }
    for (uint32_t i = 0; i < remap->from->series_count && !remap->failed; i++) {
        struct series_row row = remap->from->series[i];
        row.counter += row.counter ? shift : 0;
        remap->failed |= recording_add_series(result, &row) == UINT32_MAX;
    }
}

static void add_regions(struct remap *remap)
{
    struct recording *result = &remap->merge->result;
    uint32_t shift = result->regions_count - 1;
    for (uint32_t i = 1; i < remap->from->regions_count && !remap->failed; i++) {
        struct region region = remap->from->regions[i];
        region.name = carry_string(remap, region.name);
        region.group = carry_string(remap, region.group);
        region.code = carry_code(remap, region.code);
        remap->failed |= !recording_add_region(result, &region);
    }
    for (uint32_t i = 0; i < remap->from->region_events_count && !remap->failed; i++) {
        struct region_event_row row = remap->from->region_events[i];
        row.thread = remap->threads[row.thread];
        row.region += row.region ? shift : 0;
        row.ends += row.ends ? shift : 0;
        remap->failed |= recording_add_region_event(result, &row) == UINT32_MAX;
    }
    for (uint32_t i = 0; i < remap->from->marks_count && !remap->failed; i++) {
        struct mark_row row = remap->from->marks[i];
        row.thread = remap->threads[row.thread];
        row.name = carry_string(remap, row.name);
        row.text = carry_string(remap, row.text);
        remap->failed |= recording_add_mark(result, &row) == UINT32_MAX;
    }
}

static void add_communicators(struct remap *remap)
{
    struct recording *result = &remap->merge->result;
    for (uint32_t i = 1; i < remap->from->communicators_count && !remap->failed; i++) {
        struct communicator communicator = remap->from->communicators[i];
        communicator.process = remap->processes[communicator.process];
        communicator.name = carry_string(remap, communicator.name);
        remap->failed |= !recording_add_communicator(result, &communicator);
    }
    for (uint32_t i = 0; i < remap->from->clocks_count && !remap->failed; i++) {
        struct clock_row row = remap->from->clocks[i];
        row.process = remap->processes[row.process];
        remap->failed |= recording_add_clock(result, &row) == UINT32_MAX;
    }
}

static void add_mpi(struct remap *remap)
{
    struct recording *result = &remap->merge->result;
    uint32_t shift = result->communicators_count - 1;
    add_communicators(remap);
    for (uint32_t i = 0; i < remap->from->messages_count && !remap->failed; i++) {
        struct message_row row = remap->from->messages[i];
        row.thread = remap->threads[row.thread];
        row.node = remap->nodes[row.node];
        row.communicator += row.communicator ? shift : 0;
        remap->failed |= recording_add_message(result, &row) == UINT32_MAX;
    }
    for (uint32_t i = 0; i < remap->from->collectives_count && !remap->failed; i++) {
        struct collective_row row = remap->from->collectives[i];
        row.thread = remap->threads[row.thread];
        row.node = remap->nodes[row.node];
        row.communicator += row.communicator ? shift : 0;
        remap->failed |= recording_add_collective(result, &row) == UINT32_MAX;
    }
    for (uint32_t i = 0; i < remap->from->mpi_totals_count && !remap->failed; i++) {
        struct mpi_total_row row = remap->from->mpi_totals[i];
        row.thread = remap->threads[row.thread];
        row.node = remap->nodes[row.node];
        row.communicator += row.communicator ? shift : 0;
        remap->failed |= recording_add_mpi_total(result, &row) == UINT32_MAX;
    }
}

static void add_heap(struct remap *remap)
{
    for (uint32_t i = 0; i < remap->from->heap_count && !remap->failed; i++) {
        struct heap_row row = remap->from->heap[i];
        row.thread = remap->threads[row.thread];
        row.node = remap->nodes[row.node];
        remap->failed |= recording_add_heap(&remap->merge->result, &row) == UINT32_MAX;
    }
    for (uint32_t i = 0; i < remap->from->heap_sizes_count && !remap->failed; i++) {
        struct heap_size_row row = remap->from->heap_sizes[i];
        row.process = remap->processes[row.process];
        remap->failed |= recording_add_heap_size(&remap->merge->result, &row) == UINT32_MAX;
    }
}

static void add_allocations(struct remap *remap)
{
    for (uint32_t i = 0; i < remap->from->allocations_count && !remap->failed; i++) {
        struct allocation_row row = remap->from->allocations[i];
        row.thread = remap->threads[row.thread];
        row.node = remap->nodes[row.node];
        remap->failed |= recording_add_allocation(&remap->merge->result, &row) == UINT32_MAX;
    }
}

static void add_line_memory(struct remap *remap)
{
    for (uint32_t i = 0; i < remap->from->line_memory_count && !remap->failed; i++) {
        struct line_memory_row row = remap->from->line_memory[i];
        row.thread = remap->threads[row.thread];
        row.code = carry_code(remap, row.code);
        remap->failed |= recording_add_line_memory(&remap->merge->result, &row) == UINT32_MAX;
    }
}

static void add_samples(struct remap *remap)
{
    for (uint32_t i = 0; i < remap->from->samples_count && !remap->failed; i++) {
        struct sample_row row = remap->from->samples[i];
        row.thread = remap->threads[row.thread];
        row.node = remap->nodes[row.node];
        if (recording_add_sample(&remap->merge->result, &row) == UINT32_MAX)
            remap->failed = true;
    }
}

static void add_call_events(struct remap *remap)
{
    for (uint32_t i = 0; i < remap->from->call_events_count && !remap->failed; i++) {
        struct call_event_row row = remap->from->call_events[i];
        row.thread = remap->threads[row.thread];
        row.node = remap->nodes[row.node];
        remap->failed |= recording_add_call_event(&remap->merge->result, &row) == UINT32_MAX;
    }
}

static void add_notes(struct remap *remap)
{
    for (uint32_t i = 0; i < remap->from->notes_count && !remap->failed; i++) {
        struct note note = remap->from->notes[i];
        note.process = remap->processes[note.process];
        note.text = carry_string(remap, note.text);
        if (recording_add_note(&remap->merge->result, &note) == UINT32_MAX)
            remap->failed = true;
    }
}

/* The same file may have had another text in another run: the first is kept. */
static void add_sources(struct remap *remap)
{
    for (uint32_t i = 0; i < remap->from->sources_count && !remap->failed; i++) {
        const struct source_file *source = &remap->from->sources[i];
        uint32_t file = carry_string(remap, source->file);
        if (!remap->failed && !recording_source(&remap->merge->result, file) &&
            recording_add_source(&remap->merge->result, file, recording_source_text(remap->from, source),
                                 source->size_bytes) == UINT32_MAX)
            remap->failed = true;
    }
}

static void add_damage(struct damage *sum, const struct damage *damage, bool first)
{
    sum->damaged_chunks += damage->damaged_chunks;
    sum->orphaned_chunks += damage->orphaned_chunks;
    sum->unknown_chunks += damage->unknown_chunks;
    sum->skipped_bytes += damage->skipped_bytes;
    sum->truncated |= damage->truncated;
    sum->complete = damage->complete && (first || sum->complete);
}

/* Counts of a run are added up. They and the number of recordings are written when all is known: texts of sums on the
 * way would stay in the result. */
static const char *const counted[] = {"samples", "errors"};
_Static_assert(sizeof counted / sizeof *counted == MERGE_COUNTS, "one sum for each");

static void add_counts(struct merge *merge, const struct recording *from)
{
    for (size_t i = 0; i < MERGE_COUNTS; i++) {
        const char *text = recording_meta(from, counted[i]);
        merge->counts[i].met |= text != NULL;
        merge->counts[i].sum += text ? strtoull(text, NULL, 10) : 0;
    }
    const char *merged = recording_meta(from, "merged");
    long inside = merged ? atol(merged) : 1;
    merge->added += inside > 0 ? (uint32_t)inside : 1;
}

static bool set_count(struct recording *result, const char *key, uint64_t count)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)count);
    return recording_set_meta(result, key, text) == 0;
}

static bool set_counts(struct merge *merge)
{
    bool done = merge->added < 2 || set_count(&merge->result, "merged", merge->added);
    for (size_t i = 0; i < MERGE_COUNTS && done; i++)
        done = !merge->counts[i].met || set_count(&merge->result, counted[i], merge->counts[i].sum);
    return done;
}

static bool is_counted(const char *key)
{
    return strcmp(key, counted[0]) == 0 || strcmp(key, counted[1]) == 0 || strcmp(key, "merged") == 0;
}

static void keep_agreed_metas(struct recording *result, const struct recording *from)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < result->metas_count; i++) {
        struct meta meta = result->metas[i];
        const char *value = recording_meta(from, recording_text(result, meta.key));
        if (value && strcmp(value, recording_text(result, meta.value)) == 0)
            result->metas[kept++] = meta;
    }
    result->metas_count = kept;
}

static void add_metas(struct remap *remap)
{
    struct recording *result = &remap->merge->result;
    if (remap->merge->added)
        keep_agreed_metas(result, remap->from);
    for (uint32_t i = 0; !remap->merge->added && i < remap->from->metas_count && !remap->failed; i++) {
        const struct meta *meta = &remap->from->metas[i];
        const char *key = recording_text(remap->from, meta->key);
        remap->failed |=
            !is_counted(key) && recording_set_meta(result, key, recording_text(remap->from, meta->value)) < 0;
    }
    add_counts(remap->merge, remap->from);
}

static int finish_add(struct remap *remap, struct err *err)
{
    if (!remap->failed)
        add_metas(remap);
    int result = remap->failed ? err_set(err, "out of memory while merging") : 0;
    remap_clear(remap);
    return result;
}

int merge_add(struct merge *merge, const struct recording *recording, struct err *err)
{
    struct remap remap;
    if (remap_init(&remap, merge, recording) == 0) {
        add_inlinings(&remap);
        add_flat_rows(&remap);
        add_nodes(&remap);
        add_processes(&remap);
        add_mappings(&remap);
        add_threads(&remap);
        add_calls(&remap);
        add_lines(&remap);
        add_samples(&remap);
        add_series(&remap);
        add_regions(&remap);
        add_call_events(&remap);
        add_mpi(&remap);
        add_heap(&remap);
        add_allocations(&remap);
        add_line_memory(&remap);
        add_notes(&remap);
        add_sources(&remap);
        add_damage(&merge->result.damage, &recording->damage, merge->added == 0);
    }
    return finish_add(&remap, err);
}

int merge_add_totals(struct merge *merge, const struct recording *recording, struct err *err)
{
    struct remap remap;
    if (remap_init(&remap, merge, recording) == 0) {
        add_inlinings(&remap);
        add_flat_rows(&remap);
    }
    return finish_add(&remap, err);
}

int merge_add_note(struct merge *merge, enum note_kind kind, const char *text, struct err *err)
{
    struct recording *result = &merge->result;
    if (recording_init(result, err) < 0)
        return -1;
    struct note note = {.kind = (uint8_t)kind, .text = strings_intern_text(&result->strings, text)};
    if (note.text == UINT32_MAX || recording_add_note(result, &note) == UINT32_MAX)
        return err_set(err, "out of memory while merging");
    return 0;
}

int merge_add_functions(struct merge *merge, const struct recording *recording,
                        const struct functions *functions, struct err *err)
{
    struct remap remap;
    if (remap_init(&remap, merge, recording) == 0) {
        add_inlinings(&remap);
        add_function_table(&remap, functions);
    }
    return finish_add(&remap, err);
}

/* Summed at once, so that memory does not grow with the number of recordings. */
int merge_add_lines(struct merge *merge, const struct recording *recording, struct err *err)
{
    struct remap remap;
    if (remap_init(&remap, merge, recording) == 0)
        add_lines(&remap);
    recording_compact_lines(&merge->result);
    return finish_add(&remap, err);
}

int merge_take(struct merge *merge, struct recording *recording, struct err *err)
{
    if (recording_init(&merge->result, err) < 0 || recording_compact_calls(&merge->result, err) < 0)
        return -1;
    recording_compact_lines(&merge->result);
    if (memory_rows_order(&merge->result, err) < 0 || mpi_rows_order(&merge->result, err) < 0 ||
        call_events_order(&merge->result, err) < 0)
        return -1;
    if (!set_counts(merge))
        return err_set(err, "out of memory while merging");
    *recording = merge->result;
    merge->result = (struct recording){0};
    merge_clear(merge);
    return 0;
}

void merge_clear(struct merge *merge)
{
    recording_clear(&merge->result);
    strings_clear(&merge->codes);
    node_table_clear(&merge->nodes);
    map_clear(&merge->modules);
    map_clear(&merge->symbols);
    flat_clear(&merge->flat);
    *merge = (struct merge){0};
}
