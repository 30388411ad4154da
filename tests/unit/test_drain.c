/* drain: an arena that is overwritten while it is read never sends the reader outside. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/err.h"
#include "collect/agent/arena.h"
#include "collect/recorder/drain.h"
#include "store/reader.h"
#include "store/recording.h"
#include "store/writer.h"

static const struct arena_limits limits = {.threads = 8,
                                           .codes = 64,
                                           .nodes = 512,
                                           .text_bytes = 4096,
                                           .lines = 256,
                                           .line_blocks = 16,
                                           .line_calls = 64,
                                           .log_words = 256};

struct scribbler {
    uint32_t *words;
    size_t word_count;
    bool stop;
};

static void *scribble(void *data)
{
    struct scribbler *scribbler = data;
    uint32_t random = 1;
    while (!__atomic_load_n(&scribbler->stop, __ATOMIC_RELAXED)) {
        random = random * 1664525u + 1013904223u;
        __atomic_store_n(&scribbler->words[random % scribbler->word_count], random >> (random & 31),
                         __ATOMIC_RELAXED);
    }
    return NULL;
}

/* Three lines, of which the first has run twice, and the second is going on, in a callee since tick 1500. */
static void add_lines(struct arena *arena, uint32_t code)
{
    uint32_t block = arena_add_line_block(
        arena, &(struct arena_line_block){.code = code, .thread = 1, .first_line = 10, .line_count = 3});
    uint32_t row = arena_line_blocks(arena)[block].first_row, call = arena_add_line_calls(arena, 4);
    arena_lines(arena)[row] = (struct arena_line){
        .hits = 2, .total_ticks = 100, .self_ticks = 80, .min_ticks = 40, .max_ticks = 60};
    arena_lines(arena)[row + 1].hits = 1;
    arena_line_calls(arena)[call] = (struct arena_line_call){.key = 2,
                                                             .since_ticks = 1000,
                                                             .begin_ticks = 900,
                                                             .callee_ticks = 100,
                                                             .callee = 4,
                                                             .callee_since_ticks = 1500,
                                                             .row = row + 1};
    arena_threads(arena)[1].line_call = call;
    arena_threads(arena)[1].line_depth = 1;
}

static struct arena *new_arena(void)
{
    struct arena *arena = calloc(1, arena_bytes(&limits));
    assert_non_null(arena);
    arena->ns_per_tick = 1;
    arena_format(arena, &limits);
    uint32_t name = arena_add_text(arena, "work", 4);
    uint32_t code = arena_add_code(
        arena, &(struct arena_code){.name = name, .qualname = name, .file = name, .kind = CODE_PYTHON});
    uint32_t root = arena_add_node(arena, &(struct arena_node){.thread = 1});
    arena_add_node(arena, &(struct arena_node){.thread = 1, .parent = root});
    arena_add_thread(arena, &(struct arena_thread){.tid = 7, .root = root, .current = root});
    arena_add_node(arena,
                   &(struct arena_node){.thread = 1, .parent = root, .code = code, .calls = 5, .key = 2});
    add_lines(arena, code);
    return arena;
}

static struct drain *start(struct arena *arena, struct bytes *out, struct writer **writer)
{
    struct err err = {0};
    const struct writer_options options = {.sink = writer_sink_bytes, .context = out};
    *writer = writer_new(&options, &err);
    assert_non_null(*writer);
    uint32_t process = writer_process(*writer, &(struct process){.pid = 7});
    return drain_new(arena, arena_bytes(&limits), *writer, process);
}

static void test_header_is_read_once(void **state)
{
    (void)state;
    struct bytes out = {0};
    struct writer *writer;
    struct arena *arena = new_arena();
    struct drain *drain = start(arena, &out, &writer);
    assert_non_null(drain);
    arena->nodes_at = arena->codes_at = arena->threads_at = arena->text_at = UINT64_MAX / 2;
    memset(&arena->limits, 0xff, sizeof arena->limits);
    drain_step(drain, &(struct clock_rate){.ns_per_tick = 1});
    assert_int_equal(drain_calls(drain), 5);
    drain_free(drain);
    assert_null(drain_new(arena, arena_bytes(&limits), writer, 1));
    writer_abandon(writer);
    bytes_clear(&out);
    free(arena);
}

static void assert_line(const struct line_row *row, uint32_t line, uint64_t hits, uint64_t total_ns,
                        uint64_t self_ns)
{
    assert_int_equal(row->line, line);
    assert_int_equal(row->hits, hits);
    assert_int_equal(row->total_ns, total_ns);
    assert_int_equal(row->self_ns, self_ns);
}

static void test_lines_that_had_not_ended(void **state)
{
    (void)state;
    struct bytes out = {0};
    struct err err = {0};
    struct writer *writer;
    struct arena *arena = new_arena();
    struct drain *drain = start(arena, &out, &writer);
    drain_step(drain, &(struct clock_rate){.ns_per_tick = 1});
    drain_finish(drain, &(struct clock_rate){.ns_per_tick = 1}, 2000);
    assert_int_equal(drain_hits(drain), 3);
    drain_free(drain);
    assert_int_equal(writer_close(writer, &err), 0);
    struct recording recording = {0};
    assert_int_equal(reader_read(out.data, out.size, "test", &recording, &err), 0);
    assert_int_equal(recording.lines_count, 2);
    assert_line(&recording.lines[0], 10, 2, 100, 80);
    assert_int_equal(recording.lines[0].min_ns, 40);
    assert_line(&recording.lines[1], 11, 1, 1000, 400);
    recording_clear(&recording);
    bytes_clear(&out);
    free(arena);
}

static void test_memory_of_lines(void **state)
{
    (void)state;
    struct bytes out = {0};
    struct err err = {0};
    struct writer *writer;
    struct arena *arena = new_arena();
    arena->measures_memory = 1;
    struct arena_line_memory *memory = &arena_line_memory(arena)[arena_line_blocks(arena)[1].first_row];
    memory[0] = (struct arena_line_memory){2, 1000, 4096, 5000, 8192};
    struct drain *drain = start(arena, &out, &writer);
    drain_step(drain, &(struct clock_rate){.ns_per_tick = 1});
    memory[0] = (struct arena_line_memory){5, -300, 4096, 6000, 8192};
    memory[2].hits = 1;
    drain_step(drain, &(struct clock_rate){.ns_per_tick = 1});
    drain_finish(drain, &(struct clock_rate){.ns_per_tick = 1}, 2000);
    assert_int_equal(drain_hits(drain), 6);
    drain_free(drain);
    assert_int_equal(writer_close(writer, &err), 0);
    struct recording recording = {0};
    assert_int_equal(reader_read(out.data, out.size, "test", &recording, &err), 0);
    assert_int_equal(recording.lines_count, 0);
    assert_int_equal(recording.line_memory_count, 2);
    const struct line_memory_row *row = recording.line_memory;
    assert_int_equal(row->line, 10);
    assert_int_equal(row->hits, 5);
    assert_int_equal(row->heap_growth_bytes, -300);
    assert_int_equal(row->rss_growth_bytes, 4096);
    assert_int_equal(row->heap_bytes, 6000);
    assert_int_equal(row->rss_bytes, 8192);
    recording_clear(&recording);
    bytes_clear(&out);
    free(arena);
}

static void test_scribbling_while_draining(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        struct bytes out = {0};
        struct writer *writer;
        struct arena *arena = new_arena();
        arena->measures_memory = round % 2;
        struct drain *drain = start(arena, &out, &writer);
        assert_non_null(drain);
        struct scribbler scribbler = {.words = (uint32_t *)arena, .word_count = arena_bytes(&limits) / 4};
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, scribble, &scribbler), 0);
        for (int step = 0; step < 50; step++)
            drain_step(drain, &(struct clock_rate){.ns_per_tick = 1});
        drain_finish(drain, &(struct clock_rate){.ns_per_tick = 1}, 1);
        __atomic_store_n(&scribbler.stop, true, __ATOMIC_RELAXED);
        pthread_join(thread, NULL);
        drain_free(drain);
        writer_abandon(writer);
        bytes_clear(&out);
        free(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_header_is_read_once),
        cmocka_unit_test(test_lines_that_had_not_ended),
        cmocka_unit_test(test_memory_of_lines),
        cmocka_unit_test(test_scribbling_while_draining),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
