/*
 * store_sample: one small recording with every kind of row, as a file in memory, for the unit tests and the
 * fuzzer's seeds; and the invariants that whatever a reader makes of any bytes must obey.
 */
#ifndef SONDE_TESTS_STORE_SAMPLE_H
#define SONDE_TESTS_STORE_SAMPLE_H

#include <stdbool.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "store/mpi_calls.h"
#include "store/recording.h"
#include "store/writer.h"
#include "store/writer_mpi.h"
#include "store/writer_native.h"

/* Repeats itself, so that compression pays even here. */
#define SAMPLE_COMMAND                                                                                       \
    "python a.py --grid 100 --grid 100 --grid 100 --grid 100 --grid 100 --grid 100 --grid 100 --grid 100 "   \
    "--grid 100 --grid 100 --grid 100 --grid 100 --grid 100 --grid 100 --grid 100 --grid 100"

static inline uint32_t sample_text(struct writer *writer, const char *string)
{
    return writer_string(writer, string, strlen(string));
}

/* Two addresses in a library below `parent`: the first has a name and was inlined, the second has none. */
static inline void sample_write_natives(struct writer *writer, uint32_t process, uint32_t parent)
{
    struct module library = {.path = sample_text(writer, "/usr/lib/libm.so.6"),
                             .build_id = sample_text(writer, "0123456789abcdef"),
                             .size_bytes = 900000};
    uint32_t module = writer_native_module(writer, &library);
    writer_native_mapping(writer,
                          &(struct mapping){process, module, 0x7f0000001000, 0x7f0000009000, 0x1000, 5});
    uint32_t named = writer_native_code(writer, module, 0x1234);
    uint32_t nameless = writer_native_code(writer, module, UINT64_C(1) << 60);
    struct symbol outer = {
        .name = sample_text(writer, "cos"), .file = sample_text(writer, "s_sin.c"), .line = 20};
    struct symbol inner = {.code = named,
                           .name = sample_text(writer, "reduce"),
                           .file = outer.file,
                           .line = 7,
                           .inlined_in = writer_native_inlining(writer, &outer)};
    writer_native_symbol(writer, &inner);
    uint32_t node = writer_node(writer, &(struct node){.parent = parent, .code = named});
    writer_node(writer, &(struct node){.parent = node, .code = nameless});
    writer_update_code(writer, nameless, &(struct code){.flags = CODE_INTERNAL});
}

/* Two counters, two stacks with their history, a block that is freed where it was made, and lines. */
static inline void sample_write_memory(struct writer *writer, uint32_t process, uint32_t thread,
                                       uint32_t other, uint32_t node, uint32_t code)
{
    struct counter rss = {.name = sample_text(writer, "rss"),
                          .unit = sample_text(writer, "bytes"),
                          .process = process,
                          .kind = COUNTER_LEVEL};
    struct counter cpu = {.name = sample_text(writer, "cpu"),
                          .unit = sample_text(writer, "ns"),
                          .process = process,
                          .kind = COUNTER_SUM};
    uint32_t resident = writer_counter(writer, &rss), time = writer_counter(writer, &cpu);
    writer_series(writer, &(struct series_row){1000, 5 << 20, resident});
    writer_series(writer, &(struct series_row){1000, 0, time});
    writer_series(writer, &(struct series_row){2000, 900, time});
    writer_series(writer, &(struct series_row){2000, -1, writer_counter(writer, &rss)});
    uint32_t region =
        writer_region(writer, &(struct region){sample_text(writer, "step"), 0, code, 0x1ff0000});
    writer_region_event(writer, &(struct region_event_row){1000, 5 << 20, other, region});
    writer_region_event(writer, &(struct region_event_row){2000, -5, thread, region});
    writer_region_event(writer, &(struct region_event_row){2000, 0, thread, 0, region, 1});
    const uint32_t mark = sample_text(writer, "mark"), said = sample_text(writer, "said");
    writer_mark(writer, &(struct mark_row){2000, thread, mark, said});
    writer_mark(writer, &(struct mark_row){1000, thread, mark, 0});
    writer_call_event(writer, &(struct call_event_row){1200, 1300, thread, node});
    writer_call_event(writer, &(struct call_event_row){1100, 1400, thread, node, 70000});
    writer_call_event(writer, &(struct call_event_row){1000, 2000, thread, node});
    writer_call_event(writer, &(struct call_event_row){5, UINT64_C(1) << 40, other, node});
    const struct heap_row early = {
        1000, 64, 1, 64, 1, 64, 1, 0, 0, .thread = thread, .node = node, .allocator = HEAP_MALLOC};
    const struct heap_row late = {
        2000, 0, 0, 128, 2, 64, 1, 64, 1, .thread = thread, .node = node, .allocator = HEAP_MALLOC};
    writer_heap(writer, &late);
    writer_heap(writer,
                &(struct heap_row){
                    .at_ns = 7, .live_bytes = UINT64_C(1) << 40, .thread = other, .allocator = HEAP_GPU});
    writer_heap(writer, &early);
    writer_heap_size(writer, &(struct heap_size_row){64, 1, 64, process});
    writer_heap_size(writer, &(struct heap_size_row){0, 3, 30, process});
    writer_heap_size(writer, &(struct heap_size_row){64, 1, 70, process});
    const struct allocation_row events[] = {
        {1500, 0x7f0000001000, 64, thread, node, HEAP_MALLOC},
        {1200, 0x5000, 9, other, node, HEAP_MMAP},
        {1500, 0x7f0000001000, 0, thread, 0, HEAP_FREE},
        {1900, 0x5000, 4, other, 0, HEAP_FREE},
    };
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        writer_allocation(writer, &events[i]);
    writer_line_memory(writer, &(struct line_memory_row){thread, code, 5, 2, -100, 4096, 900, 5 << 20});
    writer_line_memory(writer, &(struct line_memory_row){thread, code, 5, 1, 30, 0, 1000, 4 << 20});
}

/* A communicator that two processes know, a message, a barrier, and calls added up. */
static inline void sample_write_mpi(struct writer *writer, uint32_t process, uint32_t thread, uint32_t node)
{
    struct communicator world = {.key = UINT64_C(1) << 60,
                                 .process = process,
                                 .size = 2,
                                 .name = sample_text(writer, "MPI_COMM_WORLD")};
    uint32_t all = writer_mpi_communicator(writer, &world);
    writer_mpi_clock(writer, &(struct clock_row){2000, -5, 30, process});
    writer_mpi_clock(writer, &(struct clock_row){1000, -1000, 20, process});
    writer_mpi_message(
        writer, &(struct message_row){1500, 100, 1400, 800, thread, node, all, 1, -1, MPI_CALL_IRECV, 1});
    writer_mpi_message(writer, &(struct message_row){1200, 50, 1200, 8, thread, node,
                                                     writer_mpi_communicator(writer, &world), MPI_NOBODY, 7,
                                                     MPI_CALL_SEND, 0});
    writer_mpi_collective(
        writer, &(struct collective_row){1700, 40, 1700, 3, 8, 16, thread, node, all, 0, MPI_CALL_BCAST});
    struct mpi_total_row total = {1, 8, 0, 50, thread, node, all, 1, MPI_CALL_SEND};
    writer_mpi_total(writer, &total);
    writer_mpi_total(writer,
                     &(struct mpi_total_row){2, 0, 0, 7, thread, node, all, MPI_NOBODY, MPI_CALL_BARRIER});
    writer_mpi_total(writer, &total);
}

/* main → len; two processes with a thread each; flushed in the middle, so that rows add up. */
static inline void sample_write(struct writer *writer)
{
    struct code main_code = {.name = sample_text(writer, "main"),
                             .file = sample_text(writer, "a.py"),
                             .line = 3,
                             .kind = CODE_PYTHON};
    struct code len_code = {.name = sample_text(writer, "<built-in method builtins.len>"),
                            .file = sample_text(writer, "~"),
                            .kind = CODE_C};
    uint32_t main_id = writer_code(writer, &main_code), len_id = writer_code(writer, &len_code);
    uint32_t top = writer_node(writer, &(struct node){.code = main_id});
    uint32_t below = writer_node(writer, &(struct node){.parent = top, .code = len_id, .line = 7});
    struct process process = {.pid = 4711,
                              .rank = UINT32_MAX,
                              .host = sample_text(writer, "node1"),
                              .command = sample_text(writer, SAMPLE_COMMAND),
                              .exit_code = INT32_MIN};
    uint32_t first = writer_process(writer, &process);
    uint32_t thread = writer_thread(writer, &(struct thread){.process = first, .tid = 4711, .start_ns = 5});
    writer_calls(writer, first, &(struct call_row){thread, top, 1, 1000});
    writer_calls(writer, first, &(struct call_row){thread, below, 10, 50});
    writer_flush(writer);
    uint32_t second = writer_process(writer, &(struct process){.pid = 4712, .parent = first, .rank = 3});
    struct thread pool = {.process = second, .name = sample_text(writer, "pool"), .tid = 4713};
    uint32_t other = writer_thread(writer, &pool);
    writer_calls(writer, first, &(struct call_row){thread, below, 5, UINT64_C(1) << 40});
    writer_calls(writer, second, &(struct call_row){other, top, 2, 7});
    writer_line(writer, first, &(struct line_row){thread, main_id, 5, 3, 900, 300, 200, 400});
    writer_line(writer, first, &(struct line_row){thread, main_id, 4, 1, 50, 50, 50, 50});
    writer_line(writer, first, &(struct line_row){thread, main_id, 5, 2, 700, 100, 100, 600});
    writer_line(writer, second, &(struct line_row){other, main_id, 1u << 30, 1, UINT64_C(1) << 40, 0, 0, 0});
    const struct sample_row samples[] = {
        {.time_ns = 3000, .weight_ns = 1000, .thread = other, .node = top, .count = 1},
        {.time_ns = 1000, .weight_ns = 1000, .thread = thread, .node = below, .count = 1, .state = 7},
        {.time_ns = 4000, .weight_ns = 2000, .thread = other, .node = below, .count = 2, .state = 1},
        {.time_ns = 2100, .weight_ns = 1000, .thread = thread, .node = top, .count = 1, .state = 3},
        {.time_ns = UINT64_C(1) << 50, .weight_ns = 0, .thread = thread, .node = 0, .count = 1},
    };
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
        writer_sample(writer, &samples[i]);
    sample_write_memory(writer, first, thread, other, below, main_id);
    sample_write_mpi(writer, first, thread, below);
    writer_function(writer, &(struct flat_function){main_id, 5, 4, 300, 900});
    writer_edge(writer, &(struct flat_edge){main_id, len_id, 15, 15, 20, 20});
    struct note note = {
        .process = second, .kind = NOTE_LOSS, .count = 9, .text = sample_text(writer, "rows lost")};
    writer_note(writer, &note);
    writer_meta(writer, "mode", "trace");
    writer_source(writer, main_code.file, "import b\nlen(b)\n", 16);
    writer_source(writer, len_code.name, "", 0);
    sample_write_natives(writer, second, below);
    process.exit_code = -9;
    process.end_ns = 77;
    writer_update_process(writer, first, &process);
    writer_update_code(writer, len_id, &(struct code){.flags = CODE_THROTTLED});
}

/* The sample as a file; empty when writing failed. The caller clears it. */
static inline struct bytes sample_file(writer_compress *compress)
{
    struct bytes file = {0};
    struct writer_options options = {.sink = writer_sink_bytes, .context = &file, .compress = compress};
    struct writer *writer = writer_new(&options, NULL);
    if (writer) {
        sample_write(writer);
        if (writer_close(writer, NULL) < 0)
            bytes_clear(&file);
    }
    return file;
}

static inline bool sample_definitions_hold(const struct recording *recording)
{
    uint32_t strings = recording->strings.count;
    bool hold = strings && recording->codes_count && recording->nodes_count && recording->processes_count &&
                recording->threads_count;
    for (uint32_t i = 0; i < recording->codes_count; i++) {
        const struct code *code = &recording->codes[i];
        hold = hold && code->name < strings && code->qualname < strings && code->file < strings &&
               code->module < strings && code->kind >= CODE_PYTHON && code->kind <= CODE_OTHER;
    }
    for (uint32_t i = 1; i < recording->nodes_count; i++)
        hold = hold && recording->nodes[i].parent < i && recording->nodes[i].code < recording->codes_count;
    for (uint32_t i = 1; i < recording->processes_count; i++) {
        const struct process *process = &recording->processes[i];
        hold = hold && process->parent < i && process->host < strings && process->command < strings &&
               process->python < strings && process->exe < strings;
    }
    for (uint32_t i = 1; i < recording->threads_count; i++)
        hold = hold && recording->threads[i].process < recording->processes_count &&
               recording->threads[i].name < strings;
    return hold;
}

static inline bool sample_natives_hold(const struct recording *recording)
{
    uint32_t strings = recording->strings.count, codes = recording->codes_count;
    bool hold = recording->modules_count;
    for (uint32_t i = 0; i < recording->modules_count; i++)
        hold = hold && recording->modules[i].path < strings && recording->modules[i].build_id < strings;
    for (uint32_t i = 0; i < recording->mappings_count; i++)
        hold = hold && recording->mappings[i].process < recording->processes_count &&
               recording->mappings[i].module < recording->modules_count;
    for (uint32_t i = 0; i < recording->addresses_count; i++)
        hold = hold && recording->addresses[i].code < codes &&
               recording->addresses[i].module < recording->modules_count;
    for (uint32_t i = 0; i < recording->symbols_count; i++) {
        const struct symbol *symbol = &recording->symbols[i];
        hold = hold && symbol->code < codes && symbol->name < strings && symbol->file < strings &&
               symbol->inlined_in < codes;
    }
    return hold;
}

static inline bool sample_memory_holds(const struct recording *recording)
{
    bool hold = recording->counters_count;
    for (uint32_t i = 0; i < recording->counters_count; i++)
        hold = hold && recording->counters[i].name < recording->strings.count &&
               recording->counters[i].unit < recording->strings.count &&
               recording->counters[i].process < recording->processes_count;
    for (uint32_t i = 0; i < recording->series_count; i++) {
        const struct series_row *row = &recording->series[i];
        hold = hold && row->counter < recording->counters_count;
        hold = hold && (i == 0 || row[-1].counter < row->counter ||
                        (row[-1].counter == row->counter && row[-1].time_ns <= row->time_ns));
    }
    for (uint32_t i = 0; i < recording->regions_count; i++)
        hold = hold && recording->regions[i].name < recording->strings.count &&
               recording->regions[i].group < recording->strings.count &&
               recording->regions[i].code < recording->codes_count;
    for (uint32_t i = 0; i < recording->call_events_count; i++) {
        const struct call_event_row *row = &recording->call_events[i];
        hold = hold && row->thread < recording->threads_count && row->node < recording->nodes_count &&
               row->start_ns <= row->end_ns;
    }
    for (uint32_t i = 0; i < recording->region_events_count; i++) {
        const struct region_event_row *row = &recording->region_events[i];
        hold = hold && row->thread < recording->threads_count && row->region < recording->regions_count &&
               row->ends < recording->regions_count && (!row->region || !row->ends);
        hold = hold && (i == 0 || row[-1].thread < row->thread ||
                        (row[-1].thread == row->thread && row[-1].time_ns <= row->time_ns));
    }
    for (uint32_t i = 0; i < recording->marks_count; i++) {
        const struct mark_row *row = &recording->marks[i];
        hold = hold && row->thread < recording->threads_count && row->name < recording->strings.count &&
               row->text < recording->strings.count;
        hold = hold && (i == 0 || row[-1].thread < row->thread ||
                        (row[-1].thread == row->thread && row[-1].time_ns <= row->time_ns));
    }
    for (uint32_t i = 0; i < recording->heap_count; i++) {
        const struct heap_row *row = &recording->heap[i];
        hold = hold && row->thread < recording->threads_count && row->node < recording->nodes_count &&
               row->allocator >= HEAP_MALLOC && row->allocator <= HEAP_GPU;
        hold = hold && (i == 0 || row[-1].thread <= row->thread);
    }
    for (uint32_t i = 0; i < recording->heap_sizes_count; i++)
        hold = hold && recording->heap_sizes[i].process < recording->processes_count;
    for (uint32_t i = 0; i < recording->allocations_count; i++) {
        const struct allocation_row *row = &recording->allocations[i];
        hold = hold && row->thread < recording->threads_count && row->node < recording->nodes_count;
        hold = hold && (i == 0 || row[-1].time_ns <= row->time_ns);
    }
    for (uint32_t i = 0; i < recording->line_memory_count; i++)
        hold = hold && recording->line_memory[i].thread < recording->threads_count &&
               recording->line_memory[i].code < recording->codes_count;
    return hold;
}

static inline bool sample_mpi_holds(const struct recording *recording)
{
    bool hold = true;
    for (uint32_t i = 0; i < recording->communicators_count; i++)
        hold = hold && recording->communicators[i].process < recording->processes_count &&
               recording->communicators[i].name < recording->strings.count;
    for (uint32_t i = 0; i < recording->clocks_count; i++)
        hold = hold && recording->clocks[i].process &&
               recording->clocks[i].process < recording->processes_count &&
               (i == 0 || recording->clocks[i - 1].process <= recording->clocks[i].process);
    for (uint32_t i = 0; i < recording->messages_count; i++) {
        const struct message_row *row = &recording->messages[i];
        hold = hold && row->thread < recording->threads_count && row->node < recording->nodes_count &&
               row->communicator < recording->communicators_count && row->call < MPI_CALL_COUNT &&
               row->posted_ns <= row->time_ns;
        hold = hold && (i == 0 || row[-1].thread < row->thread ||
                        (row[-1].thread == row->thread && row[-1].time_ns <= row->time_ns));
    }
    for (uint32_t i = 0; i < recording->collectives_count; i++) {
        const struct collective_row *row = &recording->collectives[i];
        hold = hold && row->thread < recording->threads_count && row->node < recording->nodes_count &&
               row->communicator < recording->communicators_count && row->call < MPI_CALL_COUNT &&
               row->posted_ns <= row->time_ns && (i == 0 || row[-1].thread <= row->thread);
    }
    for (uint32_t i = 0; i < recording->mpi_totals_count; i++) {
        const struct mpi_total_row *row = &recording->mpi_totals[i];
        hold = hold && row->thread < recording->threads_count && row->node < recording->nodes_count &&
               row->communicator < recording->communicators_count && row->call < MPI_CALL_COUNT &&
               (i == 0 || row[-1].thread <= row->thread);
    }
    return hold;
}

static inline bool sample_rows_hold(const struct recording *recording)
{
    bool hold = sample_memory_holds(recording) && sample_mpi_holds(recording);
    for (uint32_t i = 0; i < recording->lines_count; i++)
        hold = hold && recording->lines[i].thread < recording->threads_count &&
               recording->lines[i].code < recording->codes_count;
    for (uint32_t i = 0; i < recording->calls_count; i++) {
        const struct call_row *row = &recording->calls[i];
        hold = hold && row->thread < recording->threads_count && row->node < recording->nodes_count;
        hold = hold && (i == 0 || row[-1].thread < row->thread ||
                        (row[-1].thread == row->thread && row[-1].node < row->node));
    }
    for (uint32_t i = 0; i < recording->samples_count; i++) {
        const struct sample_row *row = &recording->samples[i];
        hold = hold && row->thread < recording->threads_count && row->node < recording->nodes_count &&
               row->count;
        hold = hold && (i == 0 || row[-1].thread < row->thread ||
                        (row[-1].thread == row->thread && row[-1].time_ns <= row->time_ns));
    }
    for (uint32_t i = 0; i < recording->functions_count; i++)
        hold = hold && recording->functions[i].code < recording->codes_count;
    for (uint32_t i = 0; i < recording->edges_count; i++)
        hold = hold && recording->edges[i].caller < recording->codes_count &&
               recording->edges[i].callee < recording->codes_count;
    for (uint32_t i = 0; i < recording->notes_count; i++)
        hold = hold && recording->notes[i].process < recording->processes_count &&
               recording->notes[i].text < recording->strings.count;
    for (uint32_t i = 0; i < recording->sources_count; i++)
        hold =
            hold && recording->sources[i].file < recording->strings.count &&
            recording->sources[i].offset + recording->sources[i].size_bytes <= recording->source_texts.size;
    for (uint32_t i = 0; i < recording->metas_count; i++)
        hold = hold && recording->metas[i].key < recording->strings.count &&
               recording->metas[i].value < recording->strings.count;
    return hold;
}

/* What recording.h promises to analyses. */
static inline bool sample_invariants_hold(const struct recording *recording)
{
    return sample_definitions_hold(recording) && sample_natives_hold(recording) &&
           sample_rows_hold(recording);
}

#endif
