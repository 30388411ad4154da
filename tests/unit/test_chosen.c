#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/chosen.h"
#include "analyse/functions.h"
#include "analyse/thread_shares.h"
#include "base/err.h"
#include "store/recording.h"

static uint32_t add_code(struct recording *recording, const char *name, const char *file, uint8_t kind)
{
    return recording_add_code(recording,
                              &(struct code){.name = strings_intern(&recording->strings, name, strlen(name)),
                                             .file = strings_intern(&recording->strings, file, strlen(file)),
                                             .kind = kind});
}

struct fixture {
    struct recording recording;
    uint32_t main, loads, decode, hook, sleep, pool;
    uint32_t main_node, sleep_node, hook_node, pool_sleep_node, own_sleep_node;
};

static uint32_t add_node(struct recording *recording, uint32_t parent, uint32_t code, uint32_t line)
{
    return recording_add_node(recording, &(struct node){parent, code, line});
}

/* main → json.loads → decode → sleep (C);  main → loads → hook (own);  threading → sleep;  main → sleep. */
static void init(struct fixture *fixture)
{
    *fixture = (struct fixture){0};
    struct recording *recording = &fixture->recording;
    fixture->main = add_code(recording, "main", "/home/me/x.py", CODE_PYTHON);
    fixture->loads = add_code(recording, "loads", "/usr/lib/python3.12/json/__init__.py", CODE_PYTHON);
    fixture->decode = add_code(recording, "decode", "/usr/lib/python3.12/json/decoder.py", CODE_PYTHON);
    fixture->hook = add_code(recording, "hook", "/home/me/x.py", CODE_PYTHON);
    fixture->sleep = add_code(recording, "<built-in method time.sleep>", "~", CODE_C);
    fixture->pool = add_code(recording, "_bootstrap", "<frozen threading>", CODE_PYTHON);
    uint32_t process = recording_add_process(recording, &(struct process){.pid = 1, .rank = UINT32_MAX});
    for (int i = 0; i < 2; i++)
        recording_add_thread(recording, &(struct thread){.process = process, .tid = 10 + i});
    fixture->main_node = add_node(recording, 0, fixture->main, 7);
    uint32_t loads = add_node(recording, fixture->main_node, fixture->loads, 2);
    uint32_t decode = add_node(recording, loads, fixture->decode, 3);
    fixture->sleep_node = add_node(recording, decode, fixture->sleep, 0);
    fixture->hook_node = add_node(recording, loads, fixture->hook, 9);
    uint32_t pool = add_node(recording, 0, fixture->pool, 1);
    fixture->pool_sleep_node = add_node(recording, pool, fixture->sleep, 0);
    fixture->own_sleep_node = add_node(recording, fixture->main_node, fixture->sleep, 0);
}

static void clear(struct fixture *fixture, struct chosen *own)
{
    chosen_clear(own);
    recording_clear(&fixture->recording);
}

static void add_sample(struct fixture *fixture, uint32_t thread, uint32_t node, uint64_t weight_ns)
{
    recording_add_sample(&fixture->recording, &(struct sample_row){.time_ns = 1,
                                                                   .weight_ns = weight_ns,
                                                                   .thread = thread,
                                                                   .node = node,
                                                                   .count = 1,
                                                                   .state = SAMPLE_RUNNING});
}

static void build(struct fixture *fixture, struct chosen *own, struct functions *functions)
{
    struct err err = {0};
    assert_int_equal(chosen_build(&fixture->recording, (struct chosen_by){.own = true}, own, &err), 0);
    assert_int_equal(functions_build(&own->recording, NULL, functions, &err), 0);
}

static void test_time_goes_to_the_caller(void **state)
{
    (void)state;
    struct fixture fixture;
    struct chosen own = {0};
    struct functions functions;
    init(&fixture);
    add_sample(&fixture, 1, fixture.sleep_node, 100);
    add_sample(&fixture, 1, fixture.hook_node, 20);
    add_sample(&fixture, 1, fixture.own_sleep_node, 3);
    build(&fixture, &own, &functions);
    const struct function_row *main = functions_find(&functions, fixture.main);
    assert_int_equal(main->self, 100);
    assert_int_equal(main->total, 123);
    assert_int_equal(functions_find(&functions, fixture.hook)->self, 20);
    assert_int_equal(functions_find(&functions, fixture.sleep)->self, 3);
    assert_null(functions_find(&functions, fixture.loads));
    assert_null(functions_find(&functions, fixture.decode));
    assert_int_equal(functions.total, 123);
    /* hook is called by main now. */
    assert_int_equal(functions.edge_count, 2);
    assert_int_equal(functions.edges[0].caller, fixture.main);
    functions_clear(&functions);
    clear(&fixture, &own);
}

static void test_line_is_the_caller_s(void **state)
{
    (void)state;
    struct fixture fixture;
    struct chosen own = {0};
    struct err err = {0};
    init(&fixture);
    add_sample(&fixture, 1, fixture.sleep_node, 100);
    assert_int_equal(chosen_build(&fixture.recording, (struct chosen_by){.own = true}, &own, &err), 0);
    const struct node *node = &own.recording.nodes[own.recording.samples[0].node];
    assert_int_equal(node->code, fixture.main);
    assert_int_equal(node->line, 7);
    assert_int_equal(own.recording.samples[0].time_ns, 1);
    clear(&fixture, &own);
}

static void test_library_alone_keeps_its_outermost_frame(void **state)
{
    (void)state;
    struct fixture fixture;
    struct chosen own = {0};
    struct functions functions;
    init(&fixture);
    add_sample(&fixture, 2, fixture.pool_sleep_node, 50);
    build(&fixture, &own, &functions);
    assert_int_equal(functions.row_count, 1);
    assert_int_equal(functions.rows[0].code, fixture.pool);
    assert_int_equal(functions.rows[0].self, 50);
    functions_clear(&functions);
    clear(&fixture, &own);
}

static void test_calls_of_the_hidden_do_not_count(void **state)
{
    (void)state;
    struct fixture fixture;
    struct chosen own = {0};
    struct functions functions;
    init(&fixture);
    recording_add_calls(&fixture.recording, &(struct call_row){1, fixture.main_node, 1, 10});
    recording_add_calls(&fixture.recording, &(struct call_row){1, fixture.sleep_node, 40, 400});
    recording_add_calls(&fixture.recording, &(struct call_row){1, fixture.hook_node, 5, 7});
    build(&fixture, &own, &functions);
    const struct function_row *main = functions_find(&functions, fixture.main);
    assert_int_equal(main->calls, 1);
    assert_int_equal(main->self, 410);
    assert_int_equal(functions_find(&functions, fixture.hook)->calls, 5);
    functions_clear(&functions);
    clear(&fixture, &own);
}

static void test_flat_profile_becomes_stacks(void **state)
{
    (void)state;
    struct fixture fixture;
    struct chosen own = {0};
    struct functions functions;
    init(&fixture);
    struct recording *recording = &fixture.recording;
    recording_add_function(recording, &(struct flat_function){fixture.main, 1, 1, 1000, 10000});
    recording_add_function(recording, &(struct flat_function){fixture.loads, 3, 3, 4000, 9000});
    recording_add_function(recording, &(struct flat_function){fixture.hook, 6, 6, 5000, 5000});
    recording_add_edge(recording, &(struct flat_edge){fixture.main, fixture.loads, 3, 3, 4000, 9000});
    recording_add_edge(recording, &(struct flat_edge){fixture.loads, fixture.hook, 6, 6, 5000, 5000});
    build(&fixture, &own, &functions);
    assert_int_equal(functions_find(&functions, fixture.main)->self, 5000);
    assert_int_equal(functions_find(&functions, fixture.main)->total, 10000);
    assert_int_equal(functions_find(&functions, fixture.hook)->calls, 6);
    assert_null(functions_find(&functions, fixture.loads));
    functions_clear(&functions);
    clear(&fixture, &own);
}

static void build_by(struct fixture *fixture, struct chosen_by by, struct chosen *part,
                     struct functions *functions)
{
    struct err err = {0};
    assert_int_equal(chosen_build(&fixture->recording, by, part, &err), 0);
    assert_int_equal(functions_build(&part->recording, NULL, functions, &err), 0);
}

static void add_all(struct fixture *fixture)
{
    init(fixture);
    add_sample(fixture, 1, fixture->sleep_node, 100);
    add_sample(fixture, 1, fixture->hook_node, 20);
    add_sample(fixture, 1, fixture->own_sleep_node, 3);
    add_sample(fixture, 1, 0, 7);
    add_sample(fixture, 2, fixture->pool_sleep_node, 50);
}

static uint64_t self_of(const struct functions *functions, uint32_t code)
{
    const struct function_row *row = functions_find(functions, code);
    return row ? row->self : 0;
}

/* A module's time is that of its functions and of what they call; callers stand above it with the same time. */
static void test_stacks_through_a_module(void **state)
{
    (void)state;
    struct fixture fixture;
    struct chosen part = {0};
    struct functions functions;
    add_all(&fixture);
    build_by(&fixture, (struct chosen_by){.modules = "json"}, &part, &functions);
    assert_int_equal(functions.total, 120);
    assert_int_equal(functions_find(&functions, fixture.main)->total, 120);
    assert_int_equal(self_of(&functions, fixture.main), 0);
    assert_int_equal(functions_find(&functions, fixture.loads)->total, 120);
    assert_int_equal(self_of(&functions, fixture.sleep), 100);
    assert_int_equal(self_of(&functions, fixture.hook), 20);
    assert_null(functions_find(&functions, fixture.pool));
    functions_clear(&functions);
    clear(&fixture, &part);
}

static uint64_t total_through(const char *modules, bool own)
{
    struct fixture fixture;
    struct chosen part = {0};
    struct functions functions;
    add_all(&fixture);
    build_by(&fixture, (struct chosen_by){.modules = modules, .own = own}, &part, &functions);
    uint64_t total = functions.total;
    functions_clear(&functions);
    clear(&fixture, &part);
    return total;
}

static void test_names_of_modules(void **state)
{
    (void)state;
    assert_int_equal(total_through("json.decoder", false), 100);
    assert_int_equal(total_through("json.decoder\ntime", false), 153);
    assert_int_equal(total_through("\njson\n", false), 120);
    assert_int_equal(total_through("jso", false), 0);
    assert_int_equal(total_through("json.", false), 0);
    assert_int_equal(total_through("", true), 173);
    /* What led to a library is there still when its own frames are hidden. */
    assert_int_equal(total_through("json.decoder", true), 100);
}

/* Nothing seems to last into a sample that is left out. */
static void test_left_out_samples_keep_their_time(void **state)
{
    (void)state;
    struct fixture fixture;
    struct chosen part = {0};
    struct err err = {0};
    add_all(&fixture);
    assert_int_equal(
        chosen_build(&fixture.recording, (struct chosen_by){.modules = "json.decoder"}, &part, &err), 0);
    assert_int_equal(part.recording.samples_count, 5);
    assert_false(part.recording.samples[0].state & SAMPLE_LEFT_OUT);
    for (int i = 1; i < 5; i++)
        assert_true(part.recording.samples[i].state & SAMPLE_LEFT_OUT);
    assert_false(tree_selection_has_sample(&(struct selection){.idle = true}, &part.recording,
                                           &part.recording.samples[1]));
    clear(&fixture, &part);
}

static void test_calls_and_lines_of_a_module(void **state)
{
    (void)state;
    struct fixture fixture;
    struct chosen part = {0};
    struct functions functions;
    init(&fixture);
    struct recording *recording = &fixture.recording;
    recording_add_calls(recording, &(struct call_row){1, fixture.main_node, 1, 10});
    recording_add_calls(recording, &(struct call_row){1, fixture.sleep_node, 40, 400});
    recording_add_line(recording,
                       &(struct line_row){.thread = 1, .code = fixture.decode, .line = 3, .hits = 2});
    recording_add_line(recording,
                       &(struct line_row){.thread = 1, .code = fixture.main, .line = 7, .hits = 1});
    assert_true(chosen_has_module(recording, "json"));
    assert_false(chosen_has_module(recording, "numpy"));
    build_by(&fixture, (struct chosen_by){.modules = "json"}, &part, &functions);
    assert_int_equal(functions.total, 400);
    assert_int_equal(functions_find(&functions, fixture.main)->total, 400);
    assert_int_equal(functions_find(&functions, fixture.sleep)->calls, 40);
    assert_int_equal(part.recording.lines_count, 1);
    assert_int_equal(part.recording.lines[0].code, fixture.decode);
    functions_clear(&functions);
    clear(&fixture, &part);
}

static void test_empty_recording(void **state)
{
    (void)state;
    struct recording nothing = {0};
    struct chosen own = {0};
    struct err err = {0};
    assert_int_equal(chosen_build(&nothing, (struct chosen_by){.own = true}, &own, &err), 0);
    assert_int_equal(own.recording.nodes_count, 0);
    chosen_clear(&own);
}

static void test_shares_of_threads(void **state)
{
    (void)state;
    struct fixture fixture;
    struct err err = {0};
    init(&fixture);
    add_sample(&fixture, 1, fixture.sleep_node, 100);
    add_sample(&fixture, 1, fixture.main_node, 20);
    add_sample(&fixture, 2, fixture.pool_sleep_node, 50);
    struct thread_share *main = thread_shares_new(&fixture.recording, NULL, fixture.main, &err);
    assert_int_equal(main[1].total, 120);
    assert_int_equal(main[1].self, 20);
    assert_int_equal(main[2].total, 0);
    struct thread_share *sleep = thread_shares_new(&fixture.recording, NULL, fixture.sleep, &err);
    assert_int_equal(sleep[1].self, 100);
    assert_int_equal(sleep[2].self, 50);
    free(main);
    free(sleep);
    recording_clear(&fixture.recording);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_time_goes_to_the_caller),
        cmocka_unit_test(test_line_is_the_caller_s),
        cmocka_unit_test(test_library_alone_keeps_its_outermost_frame),
        cmocka_unit_test(test_calls_of_the_hidden_do_not_count),
        cmocka_unit_test(test_flat_profile_becomes_stacks),
        cmocka_unit_test(test_stacks_through_a_module),
        cmocka_unit_test(test_names_of_modules),
        cmocka_unit_test(test_left_out_samples_keep_their_time),
        cmocka_unit_test(test_calls_and_lines_of_a_module),
        cmocka_unit_test(test_empty_recording),
        cmocka_unit_test(test_shares_of_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
