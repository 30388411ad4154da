/* What the page's pictures are made of: one recording with known stacks at known times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/activity.h"
#include "analyse/difference.h"
#include "analyse/line_heat.h"
#include "analyse/sandwich.h"
#include "analyse/time_order.h"
#include "base/err.h"
#include "store/recording.h"

#define MS UINT64_C(1000000)

enum { MAIN = 1, WORK, SPIN };

struct fixture {
    struct recording recording;
    uint32_t thread, file;
    uint32_t main, work, spin, again; /* nodes: main:3 → work:7 → spin:9 → work:7 */
};

static uint32_t add_code(struct fixture *fixture, const char *name, uint32_t line)
{
    struct recording *recording = &fixture->recording;
    struct code code = {.name = strings_intern_text(&recording->strings, name),
                        .file = fixture->file,
                        .line = line,
                        .kind = CODE_PYTHON};
    code.qualname = code.name;
    return recording_add_code(recording, &code);
}

static uint32_t add_node(struct fixture *fixture, uint32_t parent, uint32_t code, uint32_t line)
{
    const struct node node = {.parent = parent, .code = code, .line = line};
    return recording_add_node(&fixture->recording, &node);
}

static void add_sample(struct fixture *fixture, uint64_t time_ns, uint32_t node)
{
    const struct sample_row row = {.time_ns = time_ns,
                                   .weight_ns = MS,
                                   .thread = fixture->thread,
                                   .node = node,
                                   .count = 1,
                                   .state = SAMPLE_RUNNING};
    recording_add_sample(&fixture->recording, &row);
}

/* A sample each ms from 1 s on: 2 × main, 3 × work, 4 × spin, 1 × work called by spin. */
static void fill(struct fixture *fixture)
{
    struct err err = {0};
    *fixture = (struct fixture){0};
    assert_int_equal(recording_init(&fixture->recording, &err), 0);
    fixture->file = strings_intern_text(&fixture->recording.strings, "/x/y.py");
    assert_int_equal(add_code(fixture, "main", 1), MAIN);
    assert_int_equal(add_code(fixture, "work", 5), WORK);
    assert_int_equal(add_code(fixture, "spin", 8), SPIN);
    const struct process process = {.pid = 1, .rank = UINT32_MAX};
    const struct thread thread = {.process = recording_add_process(&fixture->recording, &process)};
    fixture->thread = recording_add_thread(&fixture->recording, &thread);
    fixture->main = add_node(fixture, 0, MAIN, 3);
    fixture->work = add_node(fixture, fixture->main, WORK, 7);
    fixture->spin = add_node(fixture, fixture->work, SPIN, 9);
    fixture->again = add_node(fixture, fixture->spin, WORK, 7);
    const uint32_t nodes[] = {fixture->main, fixture->main, fixture->work, fixture->work, fixture->work,
                              fixture->spin, fixture->spin, fixture->spin, fixture->spin, fixture->again};
    for (uint64_t i = 0; i < 10; i++)
        add_sample(fixture, 1000 * MS + i * MS, nodes[i]);
}

static void make_tree(struct fixture *fixture, struct tree *tree)
{
    struct err err = {0};
    const struct selection all = {0};
    fill(fixture);
    assert_int_equal(tree_build(&fixture->recording, &all, tree, &err), 0);
}

static void test_both_halves_of_a_sandwich_have_the_total(void **state)
{
    (void)state;
    struct fixture fixture;
    struct tree tree, callers, callees;
    struct err err = {0};
    make_tree(&fixture, &tree);
    uint32_t codes = fixture.recording.codes_count;
    assert_int_equal(sandwich_callees(&tree, WORK, codes, &callees, &err), 0);
    assert_int_equal(sandwich_callers(&tree, WORK, codes, &callers, &err), 0);
    assert_int_equal(callees.count, 4); /* root, work, spin, work */
    assert_int_equal(callees.nodes[1].code, WORK);
    assert_int_equal(callees.nodes[1].total, 8 * MS);
    assert_int_equal(callees.nodes[1].self, 3 * MS);
    assert_int_equal(callers.count, 3); /* root, work, main: the inner work counts with the outer */
    assert_int_equal(callers.nodes[1].code, WORK);
    assert_int_equal(callers.nodes[1].total, 8 * MS);
    assert_int_equal(callers.nodes[2].code, MAIN);
    assert_int_equal(callers.nodes[2].self, 8 * MS);
    tree_clear(&callers);
    tree_clear(&callees);
    tree_clear(&tree);
    recording_clear(&fixture.recording);
}

static void test_time_order_merges_neighbours(void **state)
{
    (void)state;
    static const struct time_order_row expected[] = {
        {1000 * MS, 1010 * MS, MAIN, 0},
        {1002 * MS, 1010 * MS, WORK, 1},
        {1005 * MS, 1010 * MS, SPIN, 2},
        {1009 * MS, 1010 * MS, WORK, 3},
    };
    struct fixture fixture;
    struct time_order order;
    struct err err = {0};
    const struct selection all = {0};
    fill(&fixture);
    assert_int_equal(time_order_build(&fixture.recording, &all, fixture.thread, 0, 0, 10, &order, &err), 0);
    assert_int_equal(order.levels, 4);
    assert_int_equal(order.count, 4);
    for (uint32_t i = 0; i < order.count; i++) {
        assert_int_equal(order.rows[i].start_ns, expected[i].start_ns);
        assert_int_equal(order.rows[i].end_ns, expected[i].end_ns);
        assert_int_equal(order.rows[i].code, expected[i].code);
        assert_int_equal(order.rows[i].depth, expected[i].depth);
    }
    time_order_clear(&order);
    recording_clear(&fixture.recording);
}

/* Two columns for ten stacks: the first is mostly work, the second mostly spin. */
static void test_few_columns_show_what_took_most(void **state)
{
    (void)state;
    struct fixture fixture;
    struct time_order order;
    struct err err = {0};
    const struct selection all = {0};
    fill(&fixture);
    assert_int_equal(time_order_build(&fixture.recording, &all, fixture.thread, 0, 0, 2, &order, &err), 0);
    assert_int_equal(order.levels, 3);
    assert_int_equal(order.count, 3);
    assert_int_equal(order.rows[2].code, SPIN);
    assert_int_equal(order.rows[2].start_ns, 1005 * MS);
    time_order_clear(&order);
    recording_clear(&fixture.recording);
}

static void test_a_line_counts_once_in_a_stack(void **state)
{
    (void)state;
    struct fixture fixture;
    struct line_heat heat;
    struct err err = {0};
    const struct selection all = {0};
    fill(&fixture);
    assert_int_equal(
        line_heat_build(&fixture.recording, &all, (struct line_heat_of){.file = fixture.file}, &heat, &err),
        0);
    assert_int_equal(heat.count, 10);
    assert_int_equal(heat.rows[3].self, 2 * MS);
    assert_int_equal(heat.rows[3].total, 10 * MS);
    assert_int_equal(heat.rows[7].self, 4 * MS);
    assert_int_equal(heat.rows[7].total, 8 * MS);
    assert_int_equal(heat.rows[7].samples, 4);
    assert_int_equal(heat.rows[9].self, 4 * MS);
    assert_int_equal(heat.rows[9].total, 5 * MS);
    line_heat_clear(&heat);
    recording_clear(&fixture.recording);
}

static void test_activity_adds_up(void **state)
{
    (void)state;
    struct fixture fixture;
    const struct selection all = {0};
    double running[5] = {0}, gil[5] = {0};
    fill(&fixture);
    activity_add(&fixture.recording, &all, 1000 * MS, 1010 * MS, 5, running, gil);
    for (int i = 0; i < 5; i++) {
        assert_true(running[i] == 2.0 * MS);
        assert_true(gil[i] == 0);
    }
    recording_clear(&fixture.recording);
}

static void test_a_time_range_takes_only_its_samples(void **state)
{
    (void)state;
    struct fixture fixture;
    struct tree tree;
    struct err err = {0};
    const struct selection part = {.begin_ns = 1002 * MS, .end_ns = 1005 * MS};
    fill(&fixture);
    assert_int_equal(tree_build(&fixture.recording, &part, &tree, &err), 0);
    assert_int_equal(tree.nodes[0].total, 3 * MS);
    assert_int_equal(tree.count, 3);
    tree_clear(&tree);
    recording_clear(&fixture.recording);
}

static void test_difference_pairs_by_name(void **state)
{
    (void)state;
    struct fixture before, after;
    struct tree before_tree, after_tree;
    struct functions before_functions, after_functions;
    struct difference difference;
    struct err err = {0};
    const struct selection all = {0};
    make_tree(&before, &before_tree);
    fill(&after);
    after.recording.codes[WORK].line = 50; /* the file was edited */
    for (uint32_t i = 0; i < 5; i++)
        add_sample(&after, 1010 * MS + i * MS, after.work);
    assert_int_equal(tree_build(&after.recording, &all, &after_tree, &err), 0);
    assert_int_equal(functions_build(&before.recording, &all, &before_functions, &err), 0);
    assert_int_equal(functions_build(&after.recording, &all, &after_functions, &err), 0);
    const struct difference_side sides[] = {{&before.recording, &before_tree, &before_functions},
                                            {&after.recording, &after_tree, &after_functions}};
    assert_int_equal(difference_build(&sides[0], &sides[1], &difference, &err), 0);
    assert_int_equal(difference.function_count, 3);
    const struct difference_row *work = &difference.functions[WORK - 1];
    assert_int_equal(work->before_code, WORK);
    assert_int_equal(work->after_code, WORK);
    assert_int_equal(work->after_self - work->before_self, 5 * MS);
    assert_int_equal(difference.tree.count, before_tree.count);
    assert_int_equal(difference.nodes[0].before_total, 10 * MS);
    assert_int_equal(difference.nodes[0].after_total, 15 * MS);
    difference_clear(&difference);
    functions_clear(&before_functions);
    functions_clear(&after_functions);
    tree_clear(&before_tree);
    tree_clear(&after_tree);
    recording_clear(&before.recording);
    recording_clear(&after.recording);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_halves_of_a_sandwich_have_the_total),
        cmocka_unit_test(test_time_order_merges_neighbours),
        cmocka_unit_test(test_few_columns_show_what_took_most),
        cmocka_unit_test(test_a_line_counts_once_in_a_stack),
        cmocka_unit_test(test_activity_adds_up),
        cmocka_unit_test(test_a_time_range_takes_only_its_samples),
        cmocka_unit_test(test_difference_pairs_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
