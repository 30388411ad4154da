#include "store/rewrite.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/err.h"
#include "store/natives.h"
#include "store/recording.h"
#include "store/writer.h"
#include "store/writer_mpi.h"
#include "store/writer_native.h"

/* Ids of a recording → ids of the writer. Processes and threads are always new, so theirs only move. */
struct translation {
    struct natives natives; /* of the recording */
    uint32_t *ids;          /* all of the following */
    uint32_t *strings, *codes, *nodes, *modules, *counters, *regions, *communicators;
    uint32_t process_shift, thread_shift;
};

static uint32_t shifted(uint32_t id, uint32_t shift)
{
    return id ? id + shift : 0;
}

static void put_strings(struct writer *writer, const struct recording *from, struct translation *to)
{
    for (uint32_t id = 1; id < from->strings.count; id++)
        to->strings[id] = writer_string(writer, recording_text(from, id), strings_size(&from->strings, id));
}

static struct symbol translated_symbol(const struct symbol *symbol, const struct translation *to)
{
    return (struct symbol){to->codes[symbol->code], to->strings[symbol->name], to->strings[symbol->file],
                           symbol->line, to->codes[symbol->inlined_in]};
}

/* Those without a name are told apart by their addresses, or by what they swallowed. */
static uint32_t put_code(struct writer *writer, uint32_t id, const struct code *code,
                         const struct translation *to)
{
    const struct code_address *address = natives_address(&to->natives, id);
    const struct symbol *symbol = natives_symbol(&to->natives, id);
    if (address)
        return writer_native_code(writer, to->modules[address->module], address->offset);
    if (!symbol)
        return writer_code(writer, code);
    struct symbol inlining = translated_symbol(symbol, to);
    return writer_native_inlining(writer, &inlining);
}

static void put_codes(struct writer *writer, const struct recording *from, struct translation *to)
{
    for (uint32_t id = 1; id < from->codes_count; id++) {
        struct code code = from->codes[id];
        code.name = to->strings[code.name];
        code.qualname = to->strings[code.qualname];
        code.file = to->strings[code.file];
        code.module = to->strings[code.module];
        to->codes[id] = put_code(writer, id, &code, to);
        writer_update_code(writer, to->codes[id], &code);
    }
}

static void put_modules(struct writer *writer, const struct recording *from, struct translation *to)
{
    for (uint32_t id = 1; id < from->modules_count; id++) {
        struct module module = from->modules[id];
        module.path = to->strings[module.path];
        module.build_id = to->strings[module.build_id];
        to->modules[id] = writer_native_module(writer, &module);
    }
}

static void put_mappings(struct writer *writer, const struct recording *from, const struct translation *to)
{
    for (uint32_t i = 0; i < from->mappings_count; i++) {
        struct mapping mapping = from->mappings[i];
        mapping.process = shifted(mapping.process, to->process_shift);
        mapping.module = to->modules[mapping.module];
        writer_native_mapping(writer, &mapping);
    }
}

static void put_symbols(struct writer *writer, const struct recording *from, const struct translation *to)
{
    for (uint32_t id = 1; id < from->codes_count; id++) {
        const struct symbol *symbol = natives_symbol(&to->natives, id);
        if (!symbol || !natives_address(&to->natives, id))
            continue;
        struct symbol translated = translated_symbol(symbol, to);
        writer_native_symbol(writer, &translated);
    }
}

static void put_nodes(struct writer *writer, const struct recording *from, struct translation *to)
{
    for (uint32_t id = 1; id < from->nodes_count; id++) {
        struct node node = from->nodes[id];
        node.parent = to->nodes[node.parent];
        node.code = to->codes[node.code];
        to->nodes[id] = writer_node(writer, &node);
    }
}

static void put_processes(struct writer *writer, const struct recording *from, const struct translation *to)
{
    for (uint32_t id = 1; id < from->processes_count; id++) {
        struct process process = from->processes[id];
        process.parent = shifted(process.parent, to->process_shift);
        process.host = to->strings[process.host];
        process.command = to->strings[process.command];
        process.python = to->strings[process.python];
        process.exe = to->strings[process.exe];
        writer_process(writer, &process);
    }
    for (uint32_t id = 1; id < from->threads_count; id++) {
        struct thread thread = from->threads[id];
        thread.process = shifted(thread.process, to->process_shift);
        thread.name = to->strings[thread.name];
        writer_thread(writer, &thread);
    }
}

static void put_flat(struct writer *writer, const struct recording *from, const struct translation *to)
{
    for (uint32_t i = 0; i < from->functions_count; i++) {
        struct flat_function row = from->functions[i];
        row.code = to->codes[row.code];
        writer_function(writer, &row);
    }
    for (uint32_t i = 0; i < from->edges_count; i++) {
        struct flat_edge row = from->edges[i];
        row.caller = to->codes[row.caller];
        row.callee = to->codes[row.callee];
        writer_edge(writer, &row);
    }
}

static void put_samples(struct writer *writer, const struct recording *from, const struct translation *to)
{
    for (uint32_t i = 0; i < from->samples_count; i++) {
        struct sample_row row = from->samples[i];
        row.thread = shifted(row.thread, to->thread_shift);
        row.node = to->nodes[row.node];
        if (!(row.state & SAMPLE_LEFT_OUT)) /* which no file says */
            writer_sample(writer, &row);
    }
}

/* All ranks of a run bring the same texts: the first is kept, as where recordings are added up. */
static void put_sources(struct writer *writer, const struct recording *from, const struct translation *to,
                        bool with_text)
{
    for (uint32_t i = 0; i < from->sources_count; i++) {
        const struct source_file *source = &from->sources[i];
        uint32_t file = to->strings[source->file];
        if (!recording_source(writer_known(writer), file))
            writer_source(writer, file, recording_source_text(from, source),
                          with_text ? source->size_bytes : 0);
    }
}

static void put_calls(struct writer *writer, const struct recording *from, const struct translation *to)
{
    for (uint32_t i = 0; i < from->calls_count; i++) {
        struct call_row row = from->calls[i];
        uint32_t process = shifted(from->threads[row.thread].process, to->process_shift);
        row.thread = shifted(row.thread, to->thread_shift);
        row.node = to->nodes[row.node];
        writer_calls(writer, process, &row);
    }
}

static void put_lines(struct writer *writer, const struct recording *from, const struct translation *to)
{
    for (uint32_t i = 0; i < from->lines_count; i++) {
        struct line_row row = from->lines[i];
        uint32_t process = shifted(from->threads[row.thread].process, to->process_shift);
        row.thread = shifted(row.thread, to->thread_shift);
        row.code = to->codes[row.code];
        writer_line(writer, process, &row);
    }
}

static void put_counters(struct writer *writer, const struct recording *from, const struct translation *to)
{
    for (uint32_t id = 1; id < from->counters_count; id++) {
        struct counter counter = from->counters[id];
        counter.name = to->strings[counter.name];
        counter.unit = to->strings[counter.unit];
        counter.process = shifted(counter.process, to->process_shift);
        to->counters[id] = writer_counter(writer, &counter);
    }
}

static void put_series(struct writer *writer, const struct recording *from, const struct translation *to)
{
    for (uint32_t i = 0; i < from->series_count; i++) {
        struct series_row row = from->series[i];
        row.counter = to->counters[row.counter];
        writer_series(writer, &row);
    }
}

static void put_call_events(struct writer *writer, const struct recording *from, const struct translation *to)
{
    for (uint32_t i = 0; i < from->call_events_count; i++) {
        struct call_event_row row = from->call_events[i];
        row.thread = shifted(row.thread, to->thread_shift);
        row.node = to->nodes[row.node];
        writer_call_event(writer, &row);
    }
}

static void put_regions(struct writer *writer, const struct recording *from, const struct translation *to)
{
    for (uint32_t id = 1; id < from->regions_count; id++) {
        struct region region = from->regions[id];
        region.name = to->strings[region.name];
        region.group = to->strings[region.group];
        region.code = to->codes[region.code];
        to->regions[id] = writer_region(writer, &region);
    }
}

static void put_region_events(struct writer *writer, const struct recording *from,
                              const struct translation *to)
{
    for (uint32_t i = 0; i < from->region_events_count; i++) {
        struct region_event_row row = from->region_events[i];
        row.thread = shifted(row.thread, to->thread_shift);
        row.region = to->regions[row.region];
        row.ends = to->regions[row.ends];
        writer_region_event(writer, &row);
    }
    for (uint32_t i = 0; i < from->marks_count; i++) {
        struct mark_row row = from->marks[i];
        row.thread = shifted(row.thread, to->thread_shift);
        row.name = to->strings[row.name];
        row.text = to->strings[row.text];
        writer_mark(writer, &row);
    }
}

static void put_communicators(struct writer *writer, const struct recording *from,
                              const struct translation *to)
{
    for (uint32_t id = 1; id < from->communicators_count; id++) {
        struct communicator communicator = from->communicators[id];
        communicator.process = shifted(communicator.process, to->process_shift);
        communicator.name = to->strings[communicator.name];
        to->communicators[id] = writer_mpi_communicator(writer, &communicator);
    }
}

static void put_mpi(struct writer *writer, const struct recording *from, const struct translation *to)
{
    for (uint32_t i = 0; i < from->clocks_count; i++) {
        struct clock_row row = from->clocks[i];
        row.process = shifted(row.process, to->process_shift);
        writer_mpi_clock(writer, &row);
    }
    for (uint32_t i = 0; i < from->messages_count; i++) {
        struct message_row row = from->messages[i];
        row.thread = shifted(row.thread, to->thread_shift);
        row.node = to->nodes[row.node];
        row.communicator = to->communicators[row.communicator];
        writer_mpi_message(writer, &row);
    }
    for (uint32_t i = 0; i < from->collectives_count; i++) {
        struct collective_row row = from->collectives[i];
        row.thread = shifted(row.thread, to->thread_shift);
        row.node = to->nodes[row.node];
        row.communicator = to->communicators[row.communicator];
        writer_mpi_collective(writer, &row);
    }
    for (uint32_t i = 0; i < from->mpi_totals_count; i++) {
        struct mpi_total_row row = from->mpi_totals[i];
        row.thread = shifted(row.thread, to->thread_shift);
        row.node = to->nodes[row.node];
        row.communicator = to->communicators[row.communicator];
        writer_mpi_total(writer, &row);
    }
}

static void put_heap(struct writer *writer, const struct recording *from, const struct translation *to)
{
    for (uint32_t i = 0; i < from->heap_count; i++) {
        struct heap_row row = from->heap[i];
        row.thread = shifted(row.thread, to->thread_shift);
        row.node = to->nodes[row.node];
        writer_heap(writer, &row);
    }
    for (uint32_t i = 0; i < from->heap_sizes_count; i++) {
        struct heap_size_row row = from->heap_sizes[i];
        row.process = shifted(row.process, to->process_shift);
        writer_heap_size(writer, &row);
    }
}

static void put_allocations(struct writer *writer, const struct recording *from, const struct translation *to)
{
    for (uint32_t i = 0; i < from->allocations_count; i++) {
        struct allocation_row row = from->allocations[i];
        row.thread = shifted(row.thread, to->thread_shift);
        row.node = to->nodes[row.node];
        writer_allocation(writer, &row);
    }
    for (uint32_t i = 0; i < from->line_memory_count; i++) {
        struct line_memory_row row = from->line_memory[i];
        row.thread = shifted(row.thread, to->thread_shift);
        row.code = to->codes[row.code];
        writer_line_memory(writer, &row);
    }
}

static void put_data(struct writer *writer, const struct recording *from, const struct translation *to)
{
    put_mappings(writer, from, to);
    put_calls(writer, from, to);
    put_lines(writer, from, to);
    put_samples(writer, from, to);
    put_series(writer, from, to);
    put_region_events(writer, from, to);
    put_call_events(writer, from, to);
    put_mpi(writer, from, to);
    put_heap(writer, from, to);
    put_allocations(writer, from, to);
    put_flat(writer, from, to);
    put_sources(writer, from, to, true);
    for (uint32_t i = 0; i < from->notes_count; i++) {
        struct note note = from->notes[i];
        note.process = shifted(note.process, to->process_shift);
        note.text = to->strings[note.text];
        writer_note(writer, &note);
    }
    for (uint32_t i = 0; i < from->metas_count; i++)
        writer_meta(writer, recording_text(from, from->metas[i].key),
                    recording_text(from, from->metas[i].value));
}

static void put_definitions(struct writer *writer, const struct recording *from, struct translation *to)
{
    put_strings(writer, from, to);
    put_modules(writer, from, to);
    put_codes(writer, from, to);
    put_nodes(writer, from, to);
    put_processes(writer, from, to);
    put_symbols(writer, from, to);
    put_counters(writer, from, to);
    put_regions(writer, from, to);
    put_communicators(writer, from, to);
}

static void translation_clear(struct translation *to)
{
    natives_clear(&to->natives);
    free(to->ids);
}

/* One block for all tables of ids. */
static int translation_init(struct translation *to, const struct writer *writer, const struct recording *from,
                            struct err *err)
{
    *to = (struct translation){.process_shift = writer_known(writer)->processes_count - 1,
                               .thread_shift = writer_thread_count(writer)};
    struct {
        uint32_t **ids;
        uint32_t count;
    } tables[] = {{&to->strings, from->strings.count},
                  {&to->codes, from->codes_count},
                  {&to->nodes, from->nodes_count},
                  {&to->modules, from->modules_count},
                  {&to->counters, from->counters_count},
                  {&to->regions, from->regions_count},
                  {&to->communicators, from->communicators_count}};
    size_t count = sizeof tables / sizeof *tables, size = 0;
    for (size_t i = 0; i < count; i++)
        size += (size_t)tables[i].count + 1;
    to->ids = calloc(size, sizeof *to->ids);
    if (!to->ids)
        return err_set(err, "out of memory while writing a recording");
    size = 0;
    for (size_t i = 0; i < count; i++) {
        *tables[i].ids = to->ids + size;
        size += (size_t)tables[i].count + 1;
    }
    return natives_init(&to->natives, from, err);
}

int rewrite_recording(struct writer *writer, const struct recording *recording, struct err *err)
{
    struct translation to;
    int result = translation_init(&to, writer, recording, err);
    if (result == 0) {
        put_definitions(writer, recording, &to);
        put_data(writer, recording, &to);
        result = writer_state(writer, err);
    }
    translation_clear(&to);
    return result;
}

int rewrite_definitions(struct writer *writer, const struct recording *recording, struct err *err)
{
    struct translation to;
    int result = translation_init(&to, writer, recording, err);
    if (result == 0) {
        put_definitions(writer, recording, &to);
        put_sources(writer, recording, &to, false);
        result = writer_state(writer, err);
    }
    translation_clear(&to);
    return result;
}
