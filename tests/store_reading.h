/* store_reading: reads a file that must be readable, and asserts that it is the sample. Include after cmocka.h. */
#ifndef SONDE_TESTS_STORE_READING_H
#define SONDE_TESTS_STORE_READING_H

#include "store/chunk.h"
#include "store/natives.h"
#include "store/reader.h"
#include "tests/store_sample.h"

static inline void read_good(const struct bytes *file, struct recording *recording)
{
    struct err err = {0};
    assert_int_equal(reader_read(file->data, file->size, "sample", recording, &err), 0);
    assert_true(sample_invariants_hold(recording));
}

static inline void assert_definitions(const struct recording *recording)
{
    assert_int_equal(recording->codes_count, 6);
    assert_string_equal(recording_text(recording, recording->codes[1].name), "main");
    assert_string_equal(recording_text(recording, recording->codes[1].file), "a.py");
    assert_int_equal(recording->codes[1].line, 3);
    assert_int_equal(recording->codes[2].kind, CODE_C);
    assert_int_equal(recording->codes[2].flags, CODE_THROTTLED);
    assert_int_equal(recording->nodes_count, 5);
    assert_int_equal(recording->nodes[2].parent, 1);
    assert_int_equal(recording->nodes[2].code, 2);
    assert_int_equal(recording->nodes[2].line, 7);
    assert_int_equal(recording->processes_count, 3);
    assert_int_equal(recording->processes[1].exit_code, -9);
    assert_int_equal(recording->processes[1].end_ns, 77);
    assert_int_equal(recording->processes[1].rank, UINT32_MAX);
    assert_string_equal(recording_text(recording, recording->processes[1].command), SAMPLE_COMMAND);
    assert_int_equal(recording->processes[2].rank, 3);
    assert_int_equal(recording->processes[2].parent, 1);
    assert_int_equal(recording->threads_count, 3);
    assert_string_equal(recording_text(recording, recording->threads[2].name), "pool");
    assert_int_equal(recording->threads[2].process, 2);
}

/* reduce, inlined in cos, and an address without a name. */
static inline void assert_natives(const struct recording *recording)
{
    struct natives natives;
    assert_int_equal(natives_init(&natives, recording, NULL), 0);
    assert_int_equal(recording->modules_count, 2);
    const struct module *module = &recording->modules[1];
    assert_string_equal(recording_text(recording, module->path), "/usr/lib/libm.so.6");
    assert_string_equal(recording_text(recording, module->build_id), "0123456789abcdef");
    assert_int_equal(module->size_bytes, 900000);
    const struct mapping *mapping = &recording->mappings[0];
    assert_true(mapping->start == 0x7f0000001000 && mapping->end == 0x7f0000009000);
    assert_int_equal(mapping->file_offset, 0x1000);
    assert_int_equal(mapping->since_ns, 5);
    uint32_t named = recording->nodes[3].code, nameless = recording->nodes[4].code;
    assert_int_equal(natives_address(&natives, named)->offset, 0x1234);
    assert_int_equal(natives_address(&natives, named)->module, 1);
    const struct symbol *inner = natives_symbol(&natives, named);
    assert_string_equal(recording_text(recording, inner->name), "reduce");
    assert_int_equal(inner->line, 7);
    const struct symbol *outer = natives_symbol(&natives, inner->inlined_in);
    assert_string_equal(recording_text(recording, outer->name), "cos");
    assert_string_equal(recording_text(recording, outer->file), "s_sin.c");
    assert_int_equal(outer->line, 20);
    assert_int_equal(outer->inlined_in, 0);
    assert_null(natives_address(&natives, outer->code));
    assert_true(natives_address(&natives, nameless)->offset == UINT64_C(1) << 60);
    assert_null(natives_symbol(&natives, nameless));
    assert_int_equal(recording->codes[nameless].flags, CODE_INTERNAL);
    assert_null(natives_address(&natives, 1)); /* a code with a name */
    natives_clear(&natives);
}

/* By thread, then time, as they were written. */
static inline void assert_samples(const struct recording *recording)
{
    const struct sample_row expected[] = {
        {.time_ns = 1000, .weight_ns = 1000, .thread = 1, .node = 2, .count = 1, .state = 7},
        {.time_ns = 2100, .weight_ns = 1000, .thread = 1, .node = 1, .count = 1, .state = 3},
        {.time_ns = UINT64_C(1) << 50, .thread = 1, .count = 1},
        {.time_ns = 3000, .weight_ns = 1000, .thread = 2, .node = 1, .count = 1},
        {.time_ns = 4000, .weight_ns = 2000, .thread = 2, .node = 2, .count = 2, .state = 1},
    };
    assert_int_equal(recording->samples_count, 5);
    for (uint32_t i = 0; i < 5; i++) {
        const struct sample_row *row = &recording->samples[i];
        assert_true(row->time_ns == expected[i].time_ns);
        assert_int_equal(row->weight_ns, expected[i].weight_ns);
        assert_int_equal(row->thread, expected[i].thread);
        assert_int_equal(row->node, expected[i].node);
        assert_int_equal(row->count, expected[i].count);
        assert_int_equal(row->state, expected[i].state);
    }
}

/* Rows of equal lines are added up; of min and max those that say least and most. */
static inline void assert_lines(const struct recording *recording)
{
    const struct line_row expected[] = {{1, 1, 4, 1, 50, 50, 50, 50},
                                        {1, 1, 5, 5, 1600, 400, 100, 600},
                                        {2, 1, 1u << 30, 1, UINT64_C(1) << 40, 0, 0, 0}};
    assert_int_equal(recording->lines_count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        const struct line_row *row = &recording->lines[i];
        assert_true(row->thread == expected[i].thread && row->code == expected[i].code);
        assert_int_equal(row->line, expected[i].line);
        assert_int_equal(row->hits, expected[i].hits);
        assert_true(row->total_ns == expected[i].total_ns && row->self_ns == expected[i].self_ns);
        assert_true(row->min_ns == expected[i].min_ns && row->max_ns == expected[i].max_ns);
    }
}

static inline void assert_series(const struct recording *recording)
{
    const struct series_row expected[] = {{1000, 5 << 20, 1}, {2000, -1, 1}, {1000, 0, 2}, {2000, 900, 2}};
    assert_int_equal(recording->counters_count, 3);
    assert_string_equal(recording_text(recording, recording->counters[1].name), "rss");
    assert_string_equal(recording_text(recording, recording->counters[2].unit), "ns");
    assert_int_equal(recording->counters[2].kind, COUNTER_SUM);
    assert_int_equal(recording->counters[2].process, 1);
    assert_int_equal(recording->series_count, 4);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(recording->series[i].counter, expected[i].counter);
        assert_int_equal(recording->series[i].time_ns, expected[i].time_ns);
        assert_int_equal(recording->series[i].value, expected[i].value);
    }
}

/* By thread, then time; what begins and ends in one nanosecond begins first. */
static inline void assert_regions(const struct recording *recording)
{
    const struct region_event_row expected[] = {
        {2000, -5, 1, 1, 0, 0}, {2000, 0, 1, 0, 1, 1}, {1000, 5 << 20, 2, 1, 0, 0}};
    assert_int_equal(recording->regions_count, 2);
    assert_string_equal(recording_text(recording, recording->regions[1].name), "step");
    assert_int_equal(recording->regions[1].color, 0x1ff0000);
    assert_int_equal(recording->regions[1].code, 1);
    assert_int_equal(recording->region_events_count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        const struct region_event_row *row = &recording->region_events[i];
        assert_true(row->time_ns == expected[i].time_ns && row->value == expected[i].value);
        assert_true(row->thread == expected[i].thread && row->region == expected[i].region);
        assert_true(row->ends == expected[i].ends && row->back == expected[i].back);
    }
    assert_int_equal(recording->marks_count, 2);
    assert_true(recording->marks[0].time_ns == 1000 && recording->marks[0].text == 0);
    assert_true(recording->marks[1].time_ns == 2000 && recording->marks[1].thread == 1);
    assert_string_equal(recording_text(recording, recording->marks[1].name), "mark");
    assert_string_equal(recording_text(recording, recording->marks[1].text), "said");
}

/* A caller before its lines and callees, although they end first. */
static inline void assert_call_events(const struct recording *recording)
{
    const struct call_event_row expected[] = {
        {1000, 2000, 1, 2}, {1100, 1400, 1, 2, 70000}, {1200, 1300, 1, 2}, {5, UINT64_C(1) << 40, 2, 2}};
    assert_int_equal(recording->call_events_count, 4);
    for (uint32_t i = 0; i < 4; i++) {
        const struct call_event_row *row = &recording->call_events[i];
        assert_true(row->start_ns == expected[i].start_ns && row->end_ns == expected[i].end_ns);
        assert_int_equal(row->thread, expected[i].thread);
        assert_int_equal(row->node, expected[i].node);
        assert_int_equal(row->line, expected[i].line);
    }
}

/* By stack, then time, although the later state was written first; sizes are added up. */
static inline void assert_heap(const struct recording *recording)
{
    assert_int_equal(recording->heap_count, 3);
    const struct heap_row *early = &recording->heap[0], *late = &recording->heap[1];
    assert_true(early->at_ns == 1000 && late->at_ns == 2000);
    assert_true(early->live_bytes == 64 && early->live_count == 1 && early->total_bytes == 64);
    assert_true(late->live_bytes == 0 && late->total_bytes == 128 && late->total_count == 2);
    assert_true(late->peak_bytes == 64 && late->peak_count == 1);
    assert_true(late->temporary_bytes == 64 && late->temporary_count == 1);
    assert_true(late->thread == 1 && late->node == 2 && late->allocator == HEAP_MALLOC);
    assert_true(recording->heap[2].live_bytes == UINT64_C(1) << 40 && recording->heap[2].thread == 2);
    assert_int_equal(recording->heap[2].allocator, HEAP_GPU);
    assert_int_equal(recording->heap_sizes_count, 2);
    assert_true(recording->heap_sizes[0].floor_bytes == 0 && recording->heap_sizes[0].count == 3);
    assert_true(recording->heap_sizes[1].floor_bytes == 64 && recording->heap_sizes[1].count == 2);
    assert_int_equal(recording->heap_sizes[1].total_bytes, 134);
    assert_int_equal(recording->heap_sizes[1].process, 1);
}

/* By time; a block that was freed in the nanosecond in which it was made was made first. */
static inline void assert_allocations(const struct recording *recording)
{
    const struct allocation_row expected[] = {
        {1200, 0x5000, 9, 2, 2, HEAP_MMAP},
        {1500, 0x7f0000001000, 64, 1, 2, HEAP_MALLOC},
        {1500, 0x7f0000001000, 0, 1, 0, HEAP_FREE},
        {1900, 0x5000, 4, 2, 0, HEAP_FREE},
    };
    assert_int_equal(recording->allocations_count, 4);
    for (uint32_t i = 0; i < 4; i++) {
        const struct allocation_row *row = &recording->allocations[i];
        assert_int_equal(row->time_ns, expected[i].time_ns);
        assert_true(row->address == expected[i].address);
        assert_int_equal(row->size_bytes, expected[i].size_bytes);
        assert_true(row->thread == expected[i].thread && row->node == expected[i].node);
        assert_int_equal(row->allocator, expected[i].allocator);
    }
    assert_int_equal(recording->line_memory_count, 1);
    const struct line_memory_row *line = &recording->line_memory[0];
    assert_true(line->thread == 1 && line->code == 1 && line->line == 5 && line->hits == 3);
    assert_true(line->heap_growth_bytes == -70 && line->rss_growth_bytes == 4096);
    assert_true(line->heap_bytes == 1000 && line->rss_bytes == 5 << 20);
}

/* By time, although the later ones were written first; totals are added up. */
static inline void assert_mpi(const struct recording *recording)
{
    assert_int_equal(recording->communicators_count, 2);
    const struct communicator *world = &recording->communicators[1];
    assert_true(world->key == UINT64_C(1) << 60 && world->process == 1 && world->size == 2 &&
                world->rank == 0);
    assert_string_equal(recording_text(recording, world->name), "MPI_COMM_WORLD");
    assert_int_equal(recording->clocks_count, 2);
    const struct clock_row *clock = recording->clocks;
    assert_true(clock->local_ns == 1000 && clock->reference_ns == -1000 && clock->error_ns == 20);
    assert_true(clock[1].local_ns == 2000 && clock[1].reference_ns == -5 && clock[1].process == 1);
    assert_int_equal(recording->messages_count, 2);
    const struct message_row *sent = &recording->messages[0], *received = &recording->messages[1];
    assert_true(sent->time_ns == 1200 && sent->posted_ns == 1200 && sent->duration_ns == 50);
    assert_true(sent->peer == MPI_NOBODY && sent->tag == 7 && sent->call == MPI_CALL_SEND && !sent->received);
    assert_true(received->time_ns == 1500 && received->posted_ns == 1400 && received->size_bytes == 800);
    assert_true(received->peer == 1 && received->tag == -1 && received->received && received->node == 2);
    assert_true(received->thread == 1 && received->communicator == 1 && received->call == MPI_CALL_IRECV);
    assert_int_equal(recording->collectives_count, 1);
    const struct collective_row *all = recording->collectives;
    assert_true(all->time_ns == 1700 && all->number == 3 && all->sent_bytes == 8 &&
                all->received_bytes == 16);
    assert_true(all->root == 0 && all->call == MPI_CALL_BCAST && all->node == 2 && all->communicator == 1);
    assert_int_equal(recording->mpi_totals_count, 2);
    const struct mpi_total_row *total = recording->mpi_totals;
    assert_true(total->call == MPI_CALL_SEND && total->count == 2 && total->total_ns == 100);
    assert_true(total->sent_bytes == 16 && total->received_bytes == 0 && total->peer == 1);
    assert_true(total[1].call == MPI_CALL_BARRIER && total[1].count == 2 && total[1].peer == MPI_NOBODY);
}

static inline void assert_data(const struct recording *recording)
{
    assert_series(recording);
    assert_regions(recording);
    assert_call_events(recording);
    assert_heap(recording);
    assert_allocations(recording);
    assert_mpi(recording);
    assert_lines(recording);
    assert_int_equal(recording->calls_count, 3);
    assert_int_equal(recording->calls[1].calls, 15);
    assert_true(recording->calls[1].self_ns == (UINT64_C(1) << 40) + 50);
    assert_int_equal(recording->calls[2].thread, 2);
    assert_int_equal(recording->calls[2].self_ns, 7);
    assert_samples(recording);
    assert_int_equal(recording->functions_count, 1);
    assert_int_equal(recording->functions[0].total_ns, 900);
    assert_int_equal(recording->edges_count, 1);
    assert_int_equal(recording->edges[0].callee, 2);
    assert_int_equal(recording->notes_count, 1);
    assert_int_equal(recording->notes[0].count, 9);
    assert_string_equal(recording_text(recording, recording->notes[0].text), "rows lost");
    assert_string_equal(recording_meta(recording, "mode"), "trace");
    assert_null(recording_meta(recording, "absent"));
    assert_int_equal(recording->sources_count, 2);
    const struct source_file *source = recording_source(recording, recording->codes[1].file);
    assert_non_null(source);
    assert_int_equal(source->size_bytes, 16);
    assert_memory_equal(recording_source_text(recording, source), "import b\nlen(b)\n", 16);
    assert_null(recording_source(recording, recording->metas[0].value));
}

static inline void assert_sample(const struct recording *recording)
{
    assert_definitions(recording);
    assert_natives(recording);
    assert_data(recording);
    assert_true(recording->damage.complete);
    assert_false(recording->damage.truncated);
    assert_int_equal(recording->damage.damaged_chunks, 0);
    assert_int_equal(recording->damage.skipped_bytes, 0);
}

/* Where each chunk begins, and after them the end of the file. */
struct layout {
    size_t at[32];
    size_t count;
};

static inline struct layout layout_of(const struct bytes *file)
{
    struct layout layout = {0};
    size_t offset = CHUNK_FILE_BYTES;
    while (offset < file->size) {
        struct chunk chunk;
        assert_true(chunk_get(file->data + offset, &chunk));
        layout.at[layout.count++] = offset;
        offset += CHUNK_HEADER_BYTES + chunk.stored_bytes;
    }
    assert_int_equal(offset, file->size);
    layout.at[layout.count] = offset;
    assert_true(layout.count >= 6);
    return layout;
}

#endif
