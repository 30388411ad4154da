#include "analyse/merge_rows.h"

#include "analyse/merge.h"
#include "analyse/merge_ids.h"

static void add_mappings(struct merge_ids *ids)
{
    for (uint32_t i = 0; i < ids->from->mappings_count && !ids->failed; i++) {
        struct mapping mapping = ids->from->mappings[i];
        mapping.process = ids->processes[mapping.process];
        mapping.module = merge_ids_module(ids, mapping.module);
        if (recording_add_mapping(&ids->merge->result, &mapping) == UINT32_MAX)
            ids->failed = true;
    }
}

static void add_calls(struct merge_ids *ids)
{
    for (uint32_t i = 0; i < ids->from->calls_count && !ids->failed; i++) {
        struct call_row row = ids->from->calls[i];
        row.thread = ids->threads[row.thread];
        row.node = ids->nodes[row.node];
        if (recording_add_calls(&ids->merge->result, &row) == UINT32_MAX)
            ids->failed = true;
    }
}

void merge_rows_add_lines(struct merge_ids *ids)
{
    for (uint32_t i = 0; i < ids->from->lines_count && !ids->failed; i++) {
        struct line_row row = ids->from->lines[i];
        row.thread = ids->threads ? ids->threads[row.thread] : 0;
        row.code = merge_ids_code(ids, row.code);
        if (recording_add_line(&ids->merge->result, &row) == UINT32_MAX)
            ids->failed = true;
    }
}

static void add_samples(struct merge_ids *ids)
{
    for (uint32_t i = 0; i < ids->from->samples_count && !ids->failed; i++) {
        struct sample_row row = ids->from->samples[i];
        row.thread = ids->threads[row.thread];
        row.node = ids->nodes[row.node];
        if (recording_add_sample(&ids->merge->result, &row) == UINT32_MAX)
            ids->failed = true;
    }
}

static void add_series(struct merge_ids *ids)
{
    struct recording *result = &ids->merge->result;
    uint32_t shift = result->counters_count - 1;
    for (uint32_t i = 1; i < ids->from->counters_count && !ids->failed; i++) {
        struct counter counter = ids->from->counters[i];
        counter.name = merge_ids_string(ids, counter.name);
        counter.unit = merge_ids_string(ids, counter.unit);
        counter.process = ids->processes[counter.process];
        ids->failed |= !recording_add_counter(result, &counter);
    }
    for (uint32_t i = 0; i < ids->from->series_count && !ids->failed; i++) {
        struct series_row row = ids->from->series[i];
        row.counter += row.counter ? shift : 0;
        ids->failed |= recording_add_series(result, &row) == UINT32_MAX;
    }
}

static void add_regions(struct merge_ids *ids)
{
    struct recording *result = &ids->merge->result;
    uint32_t shift = result->regions_count - 1;
    for (uint32_t i = 1; i < ids->from->regions_count && !ids->failed; i++) {
        struct region region = ids->from->regions[i];
        region.name = merge_ids_string(ids, region.name);
        region.group = merge_ids_string(ids, region.group);
        region.code = merge_ids_code(ids, region.code);
        ids->failed |= !recording_add_region(result, &region);
    }
    for (uint32_t i = 0; i < ids->from->region_events_count && !ids->failed; i++) {
        struct region_event_row row = ids->from->region_events[i];
        row.thread = ids->threads[row.thread];
        row.region += row.region ? shift : 0;
        row.ends += row.ends ? shift : 0;
        ids->failed |= recording_add_region_event(result, &row) == UINT32_MAX;
    }
    for (uint32_t i = 0; i < ids->from->marks_count && !ids->failed; i++) {
        struct mark_row row = ids->from->marks[i];
        row.thread = ids->threads[row.thread];
        row.name = merge_ids_string(ids, row.name);
        row.text = merge_ids_string(ids, row.text);
        ids->failed |= recording_add_mark(result, &row) == UINT32_MAX;
    }
}

static void add_call_events(struct merge_ids *ids)
{
    for (uint32_t i = 0; i < ids->from->call_events_count && !ids->failed; i++) {
        struct call_event_row row = ids->from->call_events[i];
        row.thread = ids->threads[row.thread];
        row.node = ids->nodes[row.node];
        ids->failed |= recording_add_call_event(&ids->merge->result, &row) == UINT32_MAX;
    }
}

static void add_communicators(struct merge_ids *ids)
{
    struct recording *result = &ids->merge->result;
    for (uint32_t i = 1; i < ids->from->communicators_count && !ids->failed; i++) {
        struct communicator communicator = ids->from->communicators[i];
        communicator.process = ids->processes[communicator.process];
        communicator.name = merge_ids_string(ids, communicator.name);
        ids->failed |= !recording_add_communicator(result, &communicator);
    }
    for (uint32_t i = 0; i < ids->from->clocks_count && !ids->failed; i++) {
        struct clock_row row = ids->from->clocks[i];
        row.process = ids->processes[row.process];
        ids->failed |= recording_add_clock(result, &row) == UINT32_MAX;
    }
}

static void add_mpi(struct merge_ids *ids)
{
    struct recording *result = &ids->merge->result;
    uint32_t shift = result->communicators_count - 1;
    add_communicators(ids);
    for (uint32_t i = 0; i < ids->from->messages_count && !ids->failed; i++) {
        struct message_row row = ids->from->messages[i];
        row.thread = ids->threads[row.thread];
        row.node = ids->nodes[row.node];
        row.communicator += row.communicator ? shift : 0;
        ids->failed |= recording_add_message(result, &row) == UINT32_MAX;
    }
    for (uint32_t i = 0; i < ids->from->collectives_count && !ids->failed; i++) {
        struct collective_row row = ids->from->collectives[i];
        row.thread = ids->threads[row.thread];
        row.node = ids->nodes[row.node];
        row.communicator += row.communicator ? shift : 0;
        ids->failed |= recording_add_collective(result, &row) == UINT32_MAX;
    }
    for (uint32_t i = 0; i < ids->from->mpi_totals_count && !ids->failed; i++) {
        struct mpi_total_row row = ids->from->mpi_totals[i];
        row.thread = ids->threads[row.thread];
        row.node = ids->nodes[row.node];
        row.communicator += row.communicator ? shift : 0;
        ids->failed |= recording_add_mpi_total(result, &row) == UINT32_MAX;
    }
}

static void add_heap(struct merge_ids *ids)
{
    for (uint32_t i = 0; i < ids->from->heap_count && !ids->failed; i++) {
        struct heap_row row = ids->from->heap[i];
        row.thread = ids->threads[row.thread];
        row.node = ids->nodes[row.node];
        ids->failed |= recording_add_heap(&ids->merge->result, &row) == UINT32_MAX;
    }
    for (uint32_t i = 0; i < ids->from->heap_sizes_count && !ids->failed; i++) {
        struct heap_size_row row = ids->from->heap_sizes[i];
        row.process = ids->processes[row.process];
        ids->failed |= recording_add_heap_size(&ids->merge->result, &row) == UINT32_MAX;
    }
}

static void add_allocations(struct merge_ids *ids)
{
    for (uint32_t i = 0; i < ids->from->allocations_count && !ids->failed; i++) {
        struct allocation_row row = ids->from->allocations[i];
        row.thread = ids->threads[row.thread];
        row.node = ids->nodes[row.node];
        ids->failed |= recording_add_allocation(&ids->merge->result, &row) == UINT32_MAX;
    }
}

static void add_line_memory(struct merge_ids *ids)
{
    for (uint32_t i = 0; i < ids->from->line_memory_count && !ids->failed; i++) {
        struct line_memory_row row = ids->from->line_memory[i];
        row.thread = ids->threads[row.thread];
        row.code = merge_ids_code(ids, row.code);
        ids->failed |= recording_add_line_memory(&ids->merge->result, &row) == UINT32_MAX;
    }
}

static void add_notes(struct merge_ids *ids)
{
    for (uint32_t i = 0; i < ids->from->notes_count && !ids->failed; i++) {
        struct note note = ids->from->notes[i];
        note.process = ids->processes[note.process];
        note.text = merge_ids_string(ids, note.text);
        if (recording_add_note(&ids->merge->result, &note) == UINT32_MAX)
            ids->failed = true;
    }
}

/* The same file may have had another text in another run: the first is kept. */
static void add_sources(struct merge_ids *ids)
{
    for (uint32_t i = 0; i < ids->from->sources_count && !ids->failed; i++) {
        const struct source_file *source = &ids->from->sources[i];
        uint32_t file = merge_ids_string(ids, source->file);
        if (!ids->failed && !recording_source(&ids->merge->result, file) &&
            recording_add_source(&ids->merge->result, file, recording_source_text(ids->from, source),
                                 source->size_bytes) == UINT32_MAX)
            ids->failed = true;
    }
}

void merge_rows_add(struct merge_ids *ids)
{
    add_mappings(ids);
    add_calls(ids);
    merge_rows_add_lines(ids);
    add_samples(ids);
    add_series(ids);
    add_regions(ids);
    add_call_events(ids);
    add_mpi(ids);
    add_heap(ids);
    add_allocations(ids);
    add_line_memory(ids);
    add_notes(ids);
    add_sources(ids);
}
