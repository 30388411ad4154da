/* call_log and call_drain: what one writes the other reads, to the tick; what gets lost is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/err.h"
#include "collect/agent/arena.h"
#include "collect/inside/call_log.h"
#include "collect/recorder/drain.h"
#include "store/call_events.h"
#include "store/reader.h"
#include "store/recording.h"
#include "store/writer.h"

#define THREADS    2
#define DEPTH_MAX  9
#define CALLS_MAX  20000
#define FIRST_TICK 1000

/* A program of two threads that call, go to other lines and return as chance will have it. */
struct program {
    struct arena *arena;
    struct call_log log;
    struct writer *writer;
    struct drain *drain;
    struct bytes file;
    uint64_t now_ticks;
    uint32_t random;
    struct {
        uint32_t depth;
        uint32_t nodes[DEPTH_MAX + 1]; /* the root first */
        uint32_t calls[DEPTH_MAX + 1]; /* places in `calls` */
        uint32_t lines[DEPTH_MAX + 1]; /* likewise, of the line that each is in; 0 = none */
    } threads[THREADS + 1];
    struct call_event_row calls[CALLS_MAX + 1]; /* and lines, from 1 on; nodes of the arena */
    uint32_t call_count, line_count;
};

static uint32_t chance(struct program *program, uint32_t below)
{
    program->random = program->random * 1664525u + 1013904223u;
    return (program->random >> 8) % below;
}

static void begin(struct program *program, uint32_t log_words, uint64_t size_bytes, bool keeps_last)
{
    const struct arena_limits limits = {
        .threads = 8, .codes = 8, .nodes = 4096, .text_bytes = 4096, .log_words = log_words};
    const struct writer_options options = {.sink = writer_sink_bytes, .context = &program->file};
    *program =
        (struct program){.arena = calloc(1, arena_bytes(&limits)), .random = 1, .now_ticks = FIRST_TICK};
    assert_non_null(program->arena);
    program->arena->ns_per_tick = 1;
    arena_format(program->arena, &limits);
    arena_log(program->arena)->size_bytes = size_bytes;
    arena_log(program->arena)->keeps_last = keeps_last;
    uint32_t name = arena_add_text(program->arena, "work", 4);
    arena_add_code(program->arena, &(struct arena_code){.name = name, .file = name, .kind = CODE_PYTHON});
    for (uint32_t thread = 1; thread <= THREADS; thread++) {
        uint32_t root = arena_add_node(program->arena, &(struct arena_node){.thread = thread});
        arena_add_node(program->arena, &(struct arena_node){.thread = thread, .parent = root});
        arena_add_thread(program->arena,
                         &(struct arena_thread){.tid = thread, .root = root, .current = root});
        program->threads[thread].nodes[0] = root;
    }
    call_log_init(&program->log, program->arena);
    program->writer = writer_new(&options, NULL);
    uint32_t process = writer_process(program->writer, &(struct process){.pid = 1});
    program->drain = drain_new(program->arena, program->arena->total_bytes, program->writer, process);
    assert_non_null(program->drain);
}

/* Each node has two children at most, so that calls of one node follow each other. */
static uint32_t child_of(struct program *program, uint32_t parent, uint32_t which)
{
    struct arena_node *nodes = arena_nodes(program->arena);
    if (!nodes[parent].child[which]) {
        const struct arena_node row = {
            .thread = nodes[parent].thread, .parent = parent, .code = 1, .depth = nodes[parent].depth + 1};
        nodes[parent].child[which] = arena_add_node(program->arena, &row);
    }
    return nodes[parent].child[which];
}

static uint32_t add(struct program *program, const struct call_event_row *row)
{
    *(row->line ? &program->line_count : &program->call_count) += 1;
    uint32_t place = program->call_count + program->line_count;
    program->calls[place] = *row;
    return place;
}

static void end_line(struct program *program, uint32_t thread)
{
    uint32_t *line = &program->threads[thread].lines[program->threads[thread].depth];
    if (*line)
        program->calls[*line].end_ns = program->now_ticks;
    *line = 0;
}

static void go_to_line(struct program *program, uint32_t thread)
{
    uint32_t depth = program->threads[thread].depth, line = 1 + chance(program, 100000);
    struct arena_thread *row = &arena_threads(program->arena)[thread];
    program->now_ticks += 1 + chance(program, 300);
    end_line(program, thread);
    program->threads[thread].lines[depth] =
        add(program, &(struct call_event_row){program->now_ticks, 0, thread,
                                              program->threads[thread].nodes[depth], line});
    call_log_put_line(&program->log, row, line, program->now_ticks);
}

static void step(struct program *program)
{
    uint32_t thread = 1 + (chance(program, 20) == 0), *depth = &program->threads[thread].depth;
    if (*depth && chance(program, 3) == 0) {
        go_to_line(program, thread);
        return;
    }
    struct arena_thread *row = &arena_threads(program->arena)[thread];
    bool begins = *depth == 0 || (*depth < DEPTH_MAX && chance(program, 2));
    program->now_ticks += chance(program, 500) ? 1 + chance(program, 300) : UINT64_C(1) << 37;
    uint32_t node = program->threads[thread].nodes[*depth - (begins ? 0 : 1)];
    if (begins) {
        node = child_of(program, node, chance(program, 2));
        arena_nodes(program->arena)[node].calls++;
        (*depth)++;
        program->threads[thread].nodes[*depth] = node;
        program->threads[thread].calls[*depth] =
            add(program, &(struct call_event_row){program->now_ticks, 0, thread, node});
    } else {
        end_line(program, thread);
        program->calls[program->threads[thread].calls[(*depth)--]].end_ns = program->now_ticks;
    }
    row->current = node;
    call_log_put(&program->log, row, (struct call_log_step){node, begins, program->now_ticks});
}

static void empty(struct program *program)
{
    const struct clock_rate rate = {.ns_per_tick = 1};
    drain_step_log(program->drain, &rate);
}

/* Ends what is open, and reads what was written. */
static void finish(struct program *program, struct recording *recording)
{
    const struct clock_rate rate = {.ns_per_tick = 1};
    program->now_ticks += 5;
    for (uint32_t i = 1; i <= program->call_count + program->line_count; i++)
        if (!program->calls[i].end_ns)
            program->calls[i].end_ns = program->now_ticks;
    drain_finish(program->drain, &rate, program->now_ticks);
    drain_free(program->drain);
    assert_int_equal(writer_close(program->writer, NULL), 0);
    struct err err = {0};
    assert_int_equal(reader_read(program->file.data, program->file.size, "test", recording, &err), 0);
    bytes_clear(&program->file);
    free(program->arena);
}

static bool is_known(const struct program *program, const struct call_event_row *event)
{
    for (uint32_t i = 1; i <= program->call_count + program->line_count; i++)
        if (program->calls[i].start_ns == event->start_ns && program->calls[i].end_ns == event->end_ns &&
            program->calls[i].thread == event->thread && program->calls[i].line == event->line)
            return true;
    return false;
}

/* A call lies inside that of the node above its own, or a line of it; a line in its call. */
static void assert_nested(const struct recording *recording)
{
    uint32_t open[2 * DEPTH_MAX + 1], depth = 0;
    for (uint32_t i = 0; i < recording->call_events_count; i++) {
        const struct call_event_row *rows = recording->call_events;
        while (depth && (rows[open[depth - 1]].thread != rows[i].thread ||
                         rows[open[depth - 1]].end_ns <= rows[i].start_ns))
            depth--;
        uint32_t around = depth ? rows[open[depth - 1]].node : 0;
        assert_int_equal(rows[i].line ? rows[i].node : recording->nodes[rows[i].node].parent, around);
        assert_true(!rows[i].line || !rows[open[depth - 1]].line);
        assert_true(!depth || rows[i].end_ns <= rows[open[depth - 1]].end_ns);
        open[depth++] = i;
    }
}

static uint64_t count_of(const struct recording *recording, const char *words)
{
    for (uint32_t i = 0; i < recording->notes_count; i++)
        if (strstr(recording_text(recording, recording->notes[i].text), words))
            return recording->notes[i].count;
    return 0;
}

static uint32_t calls_of(const struct recording *recording)
{
    return recording->call_events_count - call_events_lines(recording);
}

static void test_every_call_comes_back(void **state)
{
    (void)state;
    static struct program program;
    struct recording recording = {0};
    begin(&program, 256, 1 << 30, false);
    for (uint32_t i = 0; i < CALLS_MAX; i++) {
        step(&program);
        if (chance(&program, 8) == 0)
            empty(&program);
    }
    finish(&program, &recording);
    assert_int_equal(recording.notes_count, 0);
    assert_int_equal(calls_of(&recording), program.call_count);
    assert_int_equal(call_events_lines(&recording), program.line_count);
    for (uint32_t i = 0; i < recording.call_events_count; i++)
        assert_true(is_known(&program, &recording.call_events[i]));
    assert_nested(&recording);
    recording_clear(&recording);
}

/* Emptied too seldom: calls are on the timeline, whole or cut, or are counted as lost. */
static void test_losses_are_counted(void **state)
{
    (void)state;
    static struct program program;
    struct recording recording = {0};
    begin(&program, 64, 1 << 30, false);
    for (uint32_t i = 0; i < CALLS_MAX; i++) {
        step(&program);
        if (chance(&program, 150) == 0)
            empty(&program);
    }
    finish(&program, &recording);
    uint64_t lost = count_of(&recording, "calls are not on the timeline because the recorder");
    uint64_t lost_lines = count_of(&recording, "lines are not on the timeline because the recorder");
    uint64_t cut = count_of(&recording, "calls are on the timeline only in part") +
                   count_of(&recording, "lines are on the timeline only in part");
    uint64_t unknown = 0;
    for (uint32_t i = 0; i < recording.call_events_count; i++)
        unknown += !is_known(&program, &recording.call_events[i]);
    assert_true(lost > 1000);
    assert_int_equal(calls_of(&recording) + lost, program.call_count);
    assert_true(lost_lines > 1000);
    assert_int_equal(call_events_lines(&recording) + lost_lines, program.line_count);
    assert_true(unknown > 0 && unknown <= cut);
    assert_nested(&recording);
    recording_clear(&recording);
}

static void test_last_calls_are_kept(void **state)
{
    (void)state;
    static struct program program;
    struct recording recording = {0};
    begin(&program, 64, 8192, true);
    for (uint32_t i = 0; i < CALLS_MAX; i++) {
        step(&program);
        empty(&program);
    }
    uint64_t almost_ns = program.now_ticks - 1000;
    finish(&program, &recording);
    uint64_t late = 0, found = 0;
    for (uint32_t i = 1; i <= program.call_count + program.line_count; i++)
        late += program.calls[i].start_ns > almost_ns;
    for (uint32_t i = 0; i < recording.call_events_count; i++) {
        assert_true(is_known(&program, &recording.call_events[i]));
        found += recording.call_events[i].start_ns > almost_ns;
    }
    assert_true(late > 0);
    assert_int_equal(found, late);
    assert_int_equal(calls_of(&recording) + count_of(&recording, "earlier calls"), program.call_count);
    assert_int_equal(call_events_lines(&recording) + count_of(&recording, "earlier lines"),
                     program.line_count);
    assert_nested(&recording);
    recording_clear(&recording);
}

static void test_short_calls_go_first(void **state)
{
    (void)state;
    static struct program program;
    struct recording recording = {0};
    begin(&program, 64, 16384, false);
    for (uint32_t i = 0; i < CALLS_MAX; i++) {
        step(&program);
        empty(&program);
    }
    finish(&program, &recording);
    uint64_t thinned = count_of(&recording, "calls shorter than");
    uint64_t thinned_lines = count_of(&recording, "lines shorter than");
    uint64_t late = count_of(&recording, "calls are not on the timeline because it was full");
    uint64_t late_lines = count_of(&recording, "lines are not on the timeline because it was full");
    assert_true(thinned > 0 && thinned_lines > 0);
    assert_int_equal(calls_of(&recording) + thinned + late, program.call_count);
    assert_int_equal(call_events_lines(&recording) + thinned_lines + late_lines, program.line_count);
    assert_nested(&recording);
    recording_clear(&recording);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_call_comes_back),
        cmocka_unit_test(test_losses_are_counted),
        cmocka_unit_test(test_last_calls_are_kept),
        cmocka_unit_test(test_short_calls_go_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
