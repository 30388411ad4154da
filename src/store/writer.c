#include "store/writer.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "store/record.h"
#include "store/resume.h"
#include "store/writer_tables.h"

/* Samples come by turns from all threads; so many are held to be written by thread, where each costs a few
 * bytes less. */
#define SAMPLES_HELD 65536

/* ---- definitions ---- */

uint32_t writer_string(struct writer *writer, const char *text, size_t size)
{
    if (writer_tables_failed(writer))
        return 0;
    if (size > RECORD_STRING_MAX)
        size = RECORD_STRING_MAX;
    uint32_t before = writer->known.strings.count;
    uint32_t id = strings_intern(&writer->known.strings, text, size);
    if (id == UINT32_MAX)
        return writer_tables_fail_memory(writer);
    if (id == before)
        gather_string(&writer->gather, id, text, size);
    return id;
}

/* Everything but the flags, and a module that only one of them names: these may become known later. */
static bool same_code(const struct code *a, const struct code *b)
{
    return a->name == b->name && a->qualname == b->qualname && a->file == b->file && a->line == b->line &&
           a->kind == b->kind && (a->module == b->module || !a->module || !b->module);
}

/* The one behind the last that was asked for: mostly they come in the order in which they came before. */
static bool is_next_code(const struct writer *writer, const struct code *code)
{
    uint32_t id = writer->next_code;
    return id && id < writer->known.codes_count && writer->known.codes[id].module == code->module &&
           same_code(&writer->known.codes[id], code);
}

uint32_t writer_code(struct writer *writer, const struct code *code)
{
    const uint32_t words[] = {code->name, code->qualname, code->file, code->line, code->kind};
    if (writer_tables_failed(writer) || !writer_tables_knows_strings(writer, words, 3) ||
        !writer_tables_knows_strings(writer, &code->module, 1))
        return 0;
    uint64_t key = 0;
    uint32_t id = writer->next_code;
    if (!is_next_code(writer, code)) {
        key = map_hash_bytes(words, sizeof words);
        while ((id = map_get(&writer->codes, key)) != MAP_NONE && !same_code(&writer->known.codes[id], code))
            key++;
    }
    if (id != MAP_NONE) {
        writer->next_code = id + 1;
        writer_update_code(writer, id, code);
        return id;
    }
    id = recording_add_code(&writer->known, code);
    if (!id || !map_set(&writer->codes, key, id))
        return writer_tables_fail_memory(writer);
    gather_definition(&writer->gather, GATHER_CODES, id,
                      (uint64_t[]){code->name, code->qualname, code->file, code->module, code->line,
                                   code->kind, code->flags});
    return id;
}

static bool is_node(const struct writer *writer, uint32_t id, const struct node *node)
{
    return id && id < writer->known.nodes_count && memcmp(&writer->known.nodes[id], node, sizeof *node) == 0;
}

static uint32_t find_expected_node(const struct writer *writer, const struct node *node)
{
    if (is_node(writer, writer->next_nodes[0], node))
        return writer->next_nodes[0];
    return is_node(writer, writer->next_nodes[1], node) ? writer->next_nodes[1] : MAP_NONE;
}

static void expect_node_behind(struct writer *writer, uint32_t id)
{
    if (id != writer->next_nodes[0])
        writer->next_nodes[1] = writer->next_nodes[0];
    writer->next_nodes[0] = id + 1;
}

/* `key` receives where it is, or belongs. */
static uint32_t find_node(const struct writer *writer, const struct node *node, uint64_t *key)
{
    uint32_t id;
    *key = map_hash_bytes(node, sizeof *node);
    while ((id = map_get(&writer->nodes, *key)) != MAP_NONE && !is_node(writer, id, node))
        ++*key;
    return id;
}

uint32_t writer_node(struct writer *writer, const struct node *node)
{
    if (writer_tables_failed(writer) ||
        !writer_tables_knows(writer, "node", node->parent, writer->known.nodes_count) ||
        !writer_tables_knows(writer, "code", node->code, writer->known.codes_count))
        return 0;
    uint64_t key = 0;
    uint32_t id = find_expected_node(writer, node);
    if (id == MAP_NONE)
        id = find_node(writer, node, &key);
    if (id != MAP_NONE) {
        expect_node_behind(writer, id);
        return id;
    }
    id = recording_add_node(&writer->known, node);
    if (!id || !map_set(&writer->nodes, key, id))
        return writer_tables_fail_memory(writer);
    gather_definition(&writer->gather, GATHER_NODES, id,
                      (uint64_t[]){id - node->parent, node->code, node->line});
    return id;
}

/* What a file holds, plus 1. */
static uint32_t rank_number(const struct writer *writer, const struct process *process)
{
    return process->rank == UINT32_MAX ? writer->gather.options.rank_number : process->rank + 1;
}

static void put_process(struct writer *writer, uint32_t id, const struct process *process)
{
    const uint32_t strings[] = {process->host, process->command, process->python, process->exe};
    if (!writer_tables_knows_strings(writer, strings, 4))
        return;
    gather_row(&writer->gather, GATHER_PROCESSES, 0,
               (uint64_t[]){id, process->pid, process->parent, rank_number(writer, process), process->host,
                            process->command, process->python, process->exe, process->start_ns,
                            process->end_ns, (uint64_t)(int64_t)process->exit_code});
}

uint32_t writer_process(struct writer *writer, const struct process *process)
{
    uint32_t id = writer_tables_failed(writer) ? 0 : recording_add_process(&writer->known, process);
    if (!id)
        return writer_tables_fail_memory(writer);
    put_process(writer, id, process);
    return id;
}

void writer_update_process(struct writer *writer, uint32_t id, const struct process *process)
{
    if (writer_tables_failed(writer) ||
        !writer_tables_knows(writer, "process", id, writer->known.processes_count))
        return;
    writer->known.processes[id] = *process;
    put_process(writer, id, process);
}

void writer_set_rank(struct writer *writer, uint32_t rank)
{
    writer->gather.options.rank_number = rank + 1;
    for (uint32_t id = 1; id < writer->known.processes_count && !writer_tables_failed(writer); id++)
        put_process(writer, id, &writer->known.processes[id]);
}

uint32_t writer_rank(const struct writer *writer)
{
    return writer->gather.options.rank_number - 1;
}

static void put_thread(struct writer *writer, uint32_t id, const struct thread *thread)
{
    if (!writer_tables_knows_strings(writer, &thread->name, 1) ||
        !writer_tables_knows(writer, "process", thread->process, writer->known.processes_count))
        return;
    gather_row(
        &writer->gather, GATHER_THREADS, 0,
        (uint64_t[]){id, thread->process, thread->name, thread->tid, thread->start_ns, thread->end_ns});
}

uint32_t writer_thread(struct writer *writer, const struct thread *thread)
{
    uint32_t id = writer_tables_failed(writer) ? 0 : thread_owners_add(&writer->threads, thread->process);
    if (!id)
        return writer_tables_fail_memory(writer);
    put_thread(writer, id, thread);
    return id;
}

uint32_t writer_met_thread(struct writer *writer, enum writer_collector collector,
                           const struct thread *thread)
{
    uint64_t key = map_pair(thread->process, (uint32_t)thread->tid);
    uint32_t id = map_get(&writer->met_threads, key), met_by = map_get(&writer->met_by, key);
    uint32_t own = 1u << collector;
    if (id == MAP_NONE || met_by & own) {
        id = writer_thread(writer, thread);
        met_by = 0;
    }
    if (id && (!map_set(&writer->met_threads, key, id) || !map_set(&writer->met_by, key, met_by | own)))
        return writer_tables_fail_memory(writer);
    return id;
}

void writer_update_thread(struct writer *writer, uint32_t id, const struct thread *thread)
{
    if (writer_tables_failed(writer) || !writer_tables_knows_thread(writer, id))
        return;
    put_thread(writer, id, thread);
}

void writer_update_code(struct writer *writer, uint32_t id, const struct code *code)
{
    if (writer_tables_failed(writer) || !writer_tables_knows(writer, "code", id, writer->known.codes_count))
        return;
    struct code *known = &writer->known.codes[id];
    if (!known->module && code->module) {
        known->module = code->module;
        gather_row(&writer->gather, GATHER_CODE_MODULES, 0, (uint64_t[]){id, known->module});
    }
    if ((known->flags | code->flags) == known->flags)
        return;
    known->flags |= code->flags;
    gather_row(&writer->gather, GATHER_CODE_FLAGS, 0, (uint64_t[]){id, known->flags});
}

/* ---- data ---- */

void writer_calls(struct writer *writer, uint32_t process, const struct call_row *row)
{
    if (writer_tables_failed(writer) || !writer_tables_knows_thread(writer, row->thread) ||
        !writer_tables_knows(writer, "node", row->node, writer->known.nodes_count))
        return;
    gather_data_of(&writer->gather, process);
    gather_row(&writer->gather, GATHER_CALLS, row->thread, (uint64_t[]){row->node, row->calls, row->self_ns});
}

void writer_line(struct writer *writer, uint32_t process, const struct line_row *row)
{
    if (writer_tables_failed(writer) || !writer_tables_knows_thread(writer, row->thread) ||
        !writer_tables_knows(writer, "code", row->code, writer->known.codes_count))
        return;
    gather_data_of(&writer->gather, process);
    gather_row(
        &writer->gather, GATHER_LINES, row->thread,
        (uint64_t[]){row->code, row->line, row->hits, row->total_ns, row->self_ns, row->min_ns, row->max_ns});
}

static void put_samples(struct writer *writer)
{
    struct recording *known = &writer->known;
    if (writer_tables_failed(writer) || recording_order_samples(known, &writer->gather.err) < 0)
        return;
    for (uint32_t i = 0; i < known->samples_count; i++) {
        const struct sample_row *row = &known->samples[i];
        gather_data_of(&writer->gather, thread_owners_process(&writer->threads, row->thread));
        gather_time(&writer->gather, RECORD_KIND_SAMPLES, row->time_ns);
        gather_row(&writer->gather, GATHER_SAMPLES, row->thread,
                   (uint64_t[]){row->time_ns, row->node, row->weight_ns, row->state, row->count});
    }
    known->samples_count = 0;
}

void writer_sample(struct writer *writer, const struct sample_row *row)
{
    if (writer_tables_failed(writer) || !writer_tables_knows_thread(writer, row->thread) ||
        !writer_tables_knows(writer, "node", row->node, writer->known.nodes_count))
        return;
    if (recording_add_sample(&writer->known, row) == UINT32_MAX)
        writer_tables_fail_memory(writer);
    else if (writer->known.samples_count >= SAMPLES_HELD)
        put_samples(writer);
}

static bool same_counter(const struct counter *a, const struct counter *b)
{
    return a->name == b->name && a->unit == b->unit && a->process == b->process && a->kind == b->kind;
}

uint32_t writer_counter(struct writer *writer, const struct counter *counter)
{
    const uint32_t strings[] = {counter->name, counter->unit};
    const struct recording *known = &writer->known;
    if (writer_tables_failed(writer) || !writer_tables_knows_strings(writer, strings, 2) ||
        !writer_tables_knows(writer, "process", counter->process, known->processes_count))
        return 0;
    uint64_t key =
        map_hash_bytes((const uint32_t[]){counter->name, counter->unit, counter->process, counter->kind}, 16);
    uint32_t id;
    while ((id = map_get(&writer->counters, key)) != MAP_NONE && !same_counter(&known->counters[id], counter))
        key++;
    if (id != MAP_NONE)
        return id;
    id = recording_add_counter(&writer->known, counter);
    if (!id || !map_set(&writer->counters, key, id))
        return writer_tables_fail_memory(writer);
    gather_definition(&writer->gather, GATHER_COUNTERS, id,
                      (uint64_t[]){counter->name, counter->unit, counter->process, counter->kind});
    return id;
}

void writer_series(struct writer *writer, const struct series_row *row)
{
    if (writer_tables_failed(writer) ||
        !writer_tables_knows(writer, "counter", row->counter, writer->known.counters_count))
        return;
    gather_time(&writer->gather, RECORD_KIND_SERIES, row->time_ns);
    gather_row(&writer->gather, GATHER_SERIES, row->counter,
               (uint64_t[]){row->time_ns, (uint64_t)row->value});
}

uint32_t writer_region(struct writer *writer, const struct region *region)
{
    const uint32_t strings[] = {region->name, region->group};
    const struct recording *known = &writer->known;
    if (writer_tables_failed(writer) || !writer_tables_knows_strings(writer, strings, 2) ||
        !writer_tables_knows(writer, "code", region->code, known->codes_count))
        return 0;
    uint64_t key = map_hash_bytes(region, sizeof *region);
    uint32_t id;
    while ((id = map_get(&writer->regions, key)) != MAP_NONE &&
           memcmp(&known->regions[id], region, sizeof *region) != 0)
        key++;
    if (id != MAP_NONE)
        return id;
    id = recording_add_region(&writer->known, region);
    if (!id || !map_set(&writer->regions, key, id))
        return writer_tables_fail_memory(writer);
    gather_definition(&writer->gather, GATHER_REGIONS, id,
                      (uint64_t[]){region->name, region->group, region->code, region->color});
    return id;
}

void writer_region_event(struct writer *writer, const struct region_event_row *row)
{
    if (!writer_tables_begin_data(writer, row->thread, 0) ||
        !writer_tables_knows(writer, "region", row->region, writer->known.regions_count) ||
        !writer_tables_knows(writer, "region", row->ends, writer->known.regions_count))
        return;
    gather_time(&writer->gather, RECORD_KIND_EVENTS, row->time_ns);
    gather_row(&writer->gather, GATHER_REGION_EVENTS, row->thread,
               (uint64_t[]){row->time_ns, row->region, (uint64_t)row->value, row->ends, row->back});
}

void writer_mark(struct writer *writer, const struct mark_row *row)
{
    const uint32_t strings[] = {row->name, row->text};
    if (!writer_tables_begin_data(writer, row->thread, 0) || !writer_tables_knows_strings(writer, strings, 2))
        return;
    gather_time(&writer->gather, RECORD_KIND_EVENTS, row->time_ns);
    gather_row(&writer->gather, GATHER_MARKS, row->thread, (uint64_t[]){row->time_ns, row->name, row->text});
}

void writer_call_event(struct writer *writer, const struct call_event_row *row)
{
    if (!writer_tables_begin_data(writer, row->thread, row->node))
        return;
    gather_time(&writer->gather, RECORD_KIND_EVENTS, row->start_ns);
    writer->has_line_events |= row->line != 0;
    gather_short_row(&writer->gather, GATHER_CALL_EVENTS, row->thread,
                     (uint64_t[]){row->end_ns, row->end_ns - row->start_ns, row->node, row->line},
                     writer->has_line_events ? 4 : 3);
}

void writer_heap(struct writer *writer, const struct heap_row *row)
{
    if (!writer_tables_begin_data(writer, row->thread, row->node))
        return;
    gather_row(&writer->gather, GATHER_HEAP, row->thread,
               (uint64_t[]){row->node, row->allocator, row->at_ns, row->live_bytes, row->live_count,
                            row->total_bytes, row->total_count, row->peak_bytes, row->peak_count,
                            row->temporary_bytes, row->temporary_count});
}

void writer_heap_size(struct writer *writer, const struct heap_size_row *row)
{
    if (writer_tables_failed(writer) ||
        !writer_tables_knows(writer, "process", row->process, writer->known.processes_count))
        return;
    gather_data_of(&writer->gather, row->process);
    gather_row(&writer->gather, GATHER_HEAP_SIZES, row->process,
               (uint64_t[]){row->floor_bytes, row->count, row->total_bytes});
}

void writer_allocation(struct writer *writer, const struct allocation_row *row)
{
    if (!writer_tables_begin_data(writer, row->thread, row->node))
        return;
    gather_time(&writer->gather, RECORD_KIND_ALLOCATIONS, row->time_ns);
    if (row->allocator != HEAP_FREE)
        writer->logged_node = row->node;
    /* A free needs no node; the last one costs the least. */
    gather_row(&writer->gather, GATHER_ALLOCATIONS, thread_owners_process(&writer->threads, row->thread),
               (uint64_t[]){row->time_ns, row->address, row->allocator, row->size_bytes, writer->logged_node,
                            row->thread});
}

void writer_line_memory(struct writer *writer, const struct line_memory_row *row)
{
    if (!writer_tables_begin_data(writer, row->thread, 0) ||
        !writer_tables_knows(writer, "code", row->code, writer->known.codes_count))
        return;
    gather_row(&writer->gather, GATHER_LINE_MEMORY, row->thread,
               (uint64_t[]){row->code, row->line, row->hits, (uint64_t)row->heap_growth_bytes,
                            (uint64_t)row->rss_growth_bytes, row->heap_bytes, row->rss_bytes});
}

void writer_function(struct writer *writer, const struct flat_function *row)
{
    if (writer_tables_failed(writer) ||
        !writer_tables_knows(writer, "code", row->code, writer->known.codes_count))
        return;
    gather_row(&writer->gather, GATHER_FUNCTIONS, 0,
               (uint64_t[]){row->code, row->calls, row->primitive_calls, row->self_ns, row->total_ns});
}

void writer_edge(struct writer *writer, const struct flat_edge *row)
{
    if (writer_tables_failed(writer) ||
        !writer_tables_knows(writer, "code", row->caller, writer->known.codes_count) ||
        !writer_tables_knows(writer, "code", row->callee, writer->known.codes_count))
        return;
    gather_row(&writer->gather, GATHER_EDGES, 0,
               (uint64_t[]){row->caller, row->callee, row->calls, row->primitive_calls, row->self_ns,
                            row->total_ns});
}

void writer_note(struct writer *writer, const struct note *note)
{
    if (writer_tables_failed(writer) || !writer_tables_knows_strings(writer, &note->text, 1) ||
        !writer_tables_knows(writer, "process", note->process, writer->known.processes_count))
        return;
    gather_row(&writer->gather, GATHER_NOTES, 0,
               (uint64_t[]){note->process, note->kind, note->count, note->text});
}

void writer_meta(struct writer *writer, const char *key, const char *value)
{
    uint32_t ids[] = {writer_string(writer, key, strlen(key)), writer_string(writer, value, strlen(value))};
    if (!writer_tables_failed(writer))
        gather_row(&writer->gather, GATHER_METAS, 0, (uint64_t[]){ids[0], ids[1]});
}

void writer_source(struct writer *writer, uint32_t file, const void *text, size_t size)
{
    if (writer_tables_failed(writer) || !writer_tables_knows_strings(writer, &file, 1))
        return;
    if (size > RECORD_SOURCE_MAX)
        writer_tables_fail(writer, "a source file of %zu bytes is larger than the format allows", size);
    else if (!recording_source(&writer->known, file) &&
             recording_add_source(&writer->known, file, "", 0) == UINT32_MAX)
        writer_tables_fail_memory(writer);
    else
        gather_source(&writer->gather, file, text, size);
}

const struct recording *writer_known(const struct writer *writer)
{
    return &writer->known;
}

/* ---- life ---- */

struct writer *writer_new(const struct writer_options *options, struct err *err)
{
    struct writer *writer = calloc(1, sizeof *writer);
    if (!writer) {
        err_set(err, "out of memory for a recording");
        return NULL;
    }
    writer->gather.options = *options;
    if (recording_init(&writer->known, &writer->gather.err) == 0)
        gather_begin(&writer->gather);
    if (!writer_tables_failed(writer))
        return writer;
    err_set(err, "%s", writer->gather.err.text);
    writer_abandon(writer);
    return NULL;
}

struct writer *writer_continue(const struct writer_options *options, const struct recording *recording,
                               uint64_t size_bytes, struct err *err)
{
    if (recording->damage.renumbered) {
        err_set(err, "definitions in it are damaged, so nothing can be appended");
        return NULL;
    }
    struct writer *writer = calloc(1, sizeof *writer);
    if (writer && recording_init(&writer->known, NULL) == 0 && resume_definitions(writer, recording)) {
        writer->gather.options = *options;
        gather_continue(&writer->gather, recording->next_sequence, size_bytes);
        resume_index(writer, recording);
        return writer;
    }
    writer_abandon(writer);
    err_set(err, "out of memory for a recording");
    return NULL;
}

int writer_flush(struct writer *writer)
{
    put_samples(writer);
    writer->logged_node = 0; /* no chunk depends on another of data */
    writer->has_line_events = false;
    return gather_flush(&writer->gather);
}

void writer_set_clock(struct writer *writer, uint64_t clock_ns, uint64_t real_ns)
{
    writer->gather.clock = (struct gather_clock){true, clock_ns, real_ns};
}

int writer_place(struct writer *writer, const struct bytes *headers, struct err *err)
{
    if (writer_flush(writer) == 0)
        gather_place(&writer->gather, headers->data, headers->size);
    return writer_state(writer, err);
}

uint32_t writer_thread_count(const struct writer *writer)
{
    return writer->threads.threads;
}

int writer_state(const struct writer *writer, struct err *err)
{
    return writer_tables_failed(writer) ? err_set(err, "%s", writer->gather.err.text) : 0;
}

uint64_t writer_event_bytes(const struct writer *writer)
{
    const struct gather_chunk *events = &writer->gather.chunks[RECORD_KIND_EVENTS];
    return events->stored_bytes + events->gathered_bytes;
}

int writer_close(struct writer *writer, struct err *err)
{
    put_samples(writer);
    gather_end(&writer->gather);
    int result = writer_tables_failed(writer) ? err_set(err, "%s", writer->gather.err.text) : 0;
    writer_abandon(writer);
    return result;
}

void writer_abandon(struct writer *writer)
{
    if (!writer)
        return;
    gather_clear(&writer->gather);
    recording_clear(&writer->known);
    thread_owners_clear(&writer->threads);
    map_clear(&writer->met_threads);
    map_clear(&writer->met_by);
    map_clear(&writer->codes);
    map_clear(&writer->nodes);
    map_clear(&writer->modules);
    map_clear(&writer->addresses);
    map_clear(&writer->named);
    map_clear(&writer->inlinings);
    map_clear(&writer->counters);
    map_clear(&writer->communicators);
    map_clear(&writer->regions);
    free(writer);
}

int writer_sink_bytes(void *context, const void *data, size_t size, struct err *err)
{
    struct bytes *bytes = context;
    bytes_put(bytes, data, size);
    return bytes->failed ? err_set(err, "out of memory for a recording of %zu bytes", bytes->size + size) : 0;
}
