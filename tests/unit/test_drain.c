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
#include "store/recording.h"
#include "store/writer.h"

static const struct arena_limits limits = {.threads = 8, .codes = 64, .nodes = 512, .text_bytes = 4096};

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

static void test_scribbling_while_draining(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        struct bytes out = {0};
        struct writer *writer;
        struct arena *arena = new_arena();
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
        cmocka_unit_test(test_scribbling_while_draining),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
