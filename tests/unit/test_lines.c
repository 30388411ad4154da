/* lines: what analyses make of line times, and which lines of a source are a function. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/findings.h"
#include "analyse/functions.h"
#include "analyse/line_heat.h"
#include "analyse/line_table.h"
#include "analyse/source_block.h"
#include "base/bytes.h"
#include "store/recording.h"

enum { MAIN = 1, WORK, WORK_AGAIN, IDLE }; /* codes: the second and third are one function, compiled twice */
enum { FIRST = 1, SECOND, OTHER };         /* threads; the last is of another process */

static uint32_t text(struct recording *recording, const char *string)
{
    return strings_intern_text(&recording->strings, string);
}

static void add_code(struct recording *recording, const char *qualname, uint32_t line)
{
    struct code code = {.name = text(recording, qualname),
                        .qualname = text(recording, qualname),
                        .file = text(recording, "a.py"),
                        .line = line,
                        .kind = CODE_PYTHON};
    recording_add_code(recording, &code);
}

static void add_line(struct recording *recording, struct line_row row)
{
    recording_add_line(recording, &row);
}

static void make(struct recording *recording)
{
    recording_init(recording, NULL);
    add_code(recording, "main", 1);
    add_code(recording, "work", 10);
    add_code(recording, "work", 10);
    add_code(recording, "idle", 20);
    for (uint32_t i = 0; i < 2; i++)
        recording_add_process(recording, &(struct process){.pid = 100 + i, .rank = i});
    recording_add_thread(recording, &(struct thread){.process = 1, .tid = 100});
    recording_add_thread(recording, &(struct thread){.process = 1, .tid = 101});
    recording_add_thread(recording, &(struct thread){.process = 2, .tid = 102});
    add_line(recording, (struct line_row){FIRST, MAIN, 2, 1, 500, 10, 500, 500});
    add_line(recording, (struct line_row){FIRST, WORK, 11, 10, 300, 300, 20, 40});
    add_line(recording, (struct line_row){SECOND, WORK, 11, 5, 100, 90, 5, 30});
    add_line(recording, (struct line_row){OTHER, WORK_AGAIN, 11, 1, 50, 50, 50, 50});
    add_line(recording, (struct line_row){OTHER, WORK_AGAIN, 13, 1, 7, 7, 7, 7});
    add_line(recording, (struct line_row){FIRST, IDLE, 20, 0, 0, 0, 0, 0});
}

static void adds_threads_up(void **state)
{
    (void)state;
    struct recording recording = {0};
    struct line_table table;
    make(&recording);
    assert_int_equal(line_table_build(&recording, &(struct selection){0}, GROUP_FUNCTION, &table, NULL), 0);
    assert_int_equal(table.function_count, 3);
    const struct line_table_function *work = line_table_find(&table, WORK);
    assert_int_equal(work->count, 2);
    assert_int_equal(work->hits, 17);
    assert_int_equal(work->total_ns, 457);
    const struct line_table_row *row = &table.rows[work->first];
    assert_int_equal(row->line, 11);
    assert_int_equal(row->hits, 16);
    assert_int_equal(row->self_ns, 440);
    assert_int_equal(row->min_ns, 5);
    assert_int_equal(row->max_ns, 50);
    assert_false(row->sums_only);
    assert_null(line_table_find(&table, WORK_AGAIN));
    assert_int_equal(line_table_find(&table, IDLE)->count, 0);
    line_table_clear(&table);
    recording_clear(&recording);
}

static uint32_t count_of(const struct recording *recording, struct selection selection, enum group_by by)
{
    struct line_table table;
    uint32_t count = 0;
    assert_int_equal(line_table_build(recording, &selection, by, &table, NULL), 0);
    const struct line_table_function *work = line_table_find(&table, WORK);
    for (; work && work < table.functions + table.function_count && work->code == WORK; work++)
        count++;
    line_table_clear(&table);
    return count;
}

static void keeps_owners_apart(void **state)
{
    (void)state;
    struct recording recording = {0};
    make(&recording);
    assert_int_equal(count_of(&recording, (struct selection){0}, GROUP_THREAD), 3);
    assert_int_equal(count_of(&recording, (struct selection){0}, GROUP_PROCESS), 2);
    assert_int_equal(count_of(&recording, (struct selection){.process = 2}, GROUP_THREAD), 1);
    assert_int_equal(count_of(&recording, (struct selection){.thread = SECOND}, GROUP_PROCESS), 1);
    recording_clear(&recording);
}

/* Of a file that knows only sums; together with others nothing more is whole. */
static void knows_what_is_not_known(void **state)
{
    (void)state;
    struct recording recording = {0};
    struct line_table table;
    struct functions functions;
    make(&recording);
    add_line(&recording, (struct line_row){0, WORK, 13, 1, 30, 0, 0, 0});
    assert_int_equal(line_table_build(&recording, &(struct selection){0}, GROUP_FUNCTION, &table, NULL), 0);
    const struct line_table_function *work = line_table_find(&table, WORK);
    assert_true(work->sums_only && table.sums_only);
    assert_false(table.rows[work->first].sums_only);
    assert_true(table.rows[work->first + 1].sums_only);
    assert_false(line_table_find(&table, MAIN)->sums_only);
    assert_int_equal(line_table_functions(&table, &functions, NULL), 0);
    assert_int_equal(functions.row_count, 3);
    assert_int_equal(functions.rows[0].self, 10);
    assert_int_equal(functions.rows[1].self, 487);
    functions_clear(&functions);
    line_table_clear(&table);
    recording_clear(&recording);
}

static void gives_functions_their_times(void **state)
{
    (void)state;
    struct recording recording = {0};
    struct functions functions;
    make(&recording);
    assert_int_equal(functions_build(&recording, &(struct selection){0}, &functions, NULL), 0);
    assert_true(functions.from_lines);
    assert_int_equal(functions_find(&functions, MAIN)->total, 500);
    assert_int_equal(functions_find(&functions, MAIN)->self, 10);
    assert_int_equal(functions.total, 457);
    assert_int_equal(functions.whole, 500); /* main waited for what was not timed */
    functions_clear(&functions);
    assert_int_equal(functions_build(&recording, &(struct selection){.thread = SECOND}, &functions, NULL), 0);
    assert_int_equal(functions.total, 90);
    functions_clear(&functions);
    recording_add_calls(&recording, &(struct call_row){FIRST, 0, 1, 5});
    assert_int_equal(functions_build(&recording, &(struct selection){0}, &functions, NULL), 0);
    assert_false(functions.from_lines);
    functions_clear(&functions);
    recording_clear(&recording);
}

/* Samples count where lines were not timed. */
static void heats_lines_by_what_is_exact(void **state)
{
    (void)state;
    struct recording recording = {0};
    struct line_heat heat;
    make(&recording);
    add_code(&recording, "sampled", 30);
    struct sample_row sample = {
        .time_ns = 1, .weight_ns = 500, .thread = FIRST, .count = 1, .state = SAMPLE_RUNNING};
    sample.node = recording_add_node(&recording, &(struct node){.code = 5, .line = 31});
    recording_add_sample(&recording, &sample);
    sample.node =
        recording_add_node(&recording, &(struct node){.parent = sample.node, .code = WORK, .line = 11});
    recording_add_sample(&recording, &sample);
    struct line_heat_of of = {.file = text(&recording, "a.py")};
    assert_int_equal(line_heat_build(&recording, &(struct selection){0}, of, &heat, NULL), 0);
    assert_int_equal(heat.count, 32);
    assert_int_equal(heat.rows[11].hits, 16);
    assert_int_equal(heat.rows[11].self, 440);
    assert_int_equal(heat.rows[11].samples, 0);
    assert_int_equal(heat.rows[31].total, 1000);
    assert_int_equal(heat.rows[31].samples, 1);
    line_heat_clear(&heat);
    recording_clear(&recording);
}

/* A sampler does not know modules, so it names functions apart from those whose lines were timed. */
static void heats_a_function_of_two_names_once(void **state)
{
    (void)state;
    struct recording recording = {0};
    struct line_heat heat;
    make(&recording);
    struct code seen = recording.codes[MAIN];
    seen.module = text(&recording, "a");
    uint32_t code = recording_add_code(&recording, &seen);
    struct sample_row sample = {
        .time_ns = 1, .weight_ns = 700, .thread = FIRST, .count = 1, .state = SAMPLE_RUNNING};
    sample.node = recording_add_node(&recording, &(struct node){.code = code, .line = 2});
    recording_add_sample(&recording, &sample);
    struct line_heat_of of = {.file = text(&recording, "a.py"), .code = code};
    assert_int_equal(line_heat_build(&recording, &(struct selection){0}, of, &heat, NULL), 0);
    assert_int_equal(heat.count, 3);
    assert_int_equal(heat.rows[2].total, 500);
    assert_int_equal(heat.rows[2].hits, 1);
    line_heat_clear(&heat);
    recording_clear(&recording);
}

static bool finds(const struct recording *recording, const char *topic, const char *words)
{
    struct findings findings;
    bool found = false;
    assert_int_equal(findings_build(recording, &(struct selection){0}, &findings, NULL), 0);
    for (uint32_t i = 0; i < findings.count; i++)
        found |= strcmp(findings.rows[i].topic, topic) == 0 && strstr(findings.rows[i].text, words);
    findings_clear(&findings);
    return found;
}

static void says_which_line_is_hot(void **state)
{
    static const char source[] = "import x\n\n\n\n\n\n\n\n\ndef work():\n    for i in everything:\n";
    (void)state;
    struct recording recording = {0};
    make(&recording);
    recording_add_source(&recording, text(&recording, "a.py"), source, sizeof source - 1);
    assert_true(finds(&recording, "hot-line", "Line 11 of work (a.py:10) itself takes 96%"));
    assert_true(finds(&recording, "hot-line", "16 hits"));
    assert_true(finds(&recording, "hot-line", ": for i in everything:"));
    assert_true(finds(&recording, "never-ran", "idle (a.py:20)"));
    add_line(&recording, (struct line_row){FIRST, MAIN, 3, 1, 5000, 10, 5000, 5000});
    assert_true(
        finds(&recording, "hot-line", "Line 3 of main (a.py:1) takes 91% of that function's time, with"));
    recording_clear(&recording);
}

/* Samples have found a function that was not called again, and others whose lines are there, or which are a library's. */
static void says_what_was_not_timed(void **state)
{
    (void)state;
    struct recording recording = {0};
    make(&recording);
    struct code seen = recording.codes[WORK], loads = seen, missed = seen;
    seen.module = text(&recording, "a");
    loads.file = text(&recording, "/usr/lib/python3.9/json.py");
    missed.name = missed.qualname = text(&recording, "long_loop");
    missed.line = 30;
    const struct code *codes[] = {&seen, &loads, &missed};
    for (uint32_t i = 0; i < 3; i++) {
        struct sample_row sample = {
            .thread = FIRST, .state = SAMPLE_RUNNING, .count = 40, .weight_ns = 40000};
        sample.node = recording_add_node(
            &recording, &(struct node){.code = recording_add_code(&recording, codes[i]), .line = 31});
        recording_add_sample(&recording, &sample);
    }
    assert_true(finds(&recording, "not-timed", "long_loop (a.py:30) takes 33% of the time itself, but its"));
    recording_clear(&recording);
}

static void assert_explained(const char *mode, const char *targets, const char *words)
{
    struct recording recording = {0};
    struct bytes why = {0};
    recording_init(&recording, NULL);
    recording_set_meta(&recording, "mode", mode);
    if (targets)
        recording_set_meta(&recording, "line_targets", targets);
    line_table_explain(&recording, &why);
    bytes_put_u8(&why, 0);
    assert_non_null(strstr((char *)why.data, words));
    bytes_clear(&why);
    recording_clear(&recording);
}

static void says_why_there_is_nothing(void **state)
{
    (void)state;
    assert_explained("line", "solve, Grid.step", "ever called (solve, Grid.step)");
    assert_explained("line", NULL, "-f FUNCTION");
    assert_explained("lprof", NULL, "@profile");
    assert_explained("trace", NULL, "sonde line SCRIPT");
}

struct block_case {
    const char *source;
    uint32_t first, lines;
};

static void finds_the_end_of_functions(void **state)
{
    static const struct block_case cases[] = {
        {"def f():\n    pass\nx = 1\n", 1, 2},
        {"def f():\n    pass", 1, 2},
        {"def f(): return 1\ndef g():\n  pass\n", 1, 1},
        {"@one\n@two(\n  lambda: 1)\ndef f():\n    pass\n\nx\n", 1, 5},
        {"async def f(a,\n  b):\n\n    await x\n\n\n@y\ndef g(): pass\n", 1, 4},
        {"class A:\n    def f(self):\n        pass\n        # in\n    # out\n\n    def g(self):\n        "
         "pass\n",
         2, 3},
        {"class A:\n    def f(self):\n        pass\n    x = 1\ny\n", 1, 4},
        {"def f():\n    '''a\nb\n'''\n    return 1\nx\n", 1, 5},
        {"def f():\n    x = '\\\n  #'\n    y = \"'\"\n    return (\n1)\nz\n", 1, 6},
        {"def f():\n    x = 1 + \\\n2\n    return x\nz\n", 1, 4},
        {"def f():\n    if x:\n        a\n    elif y:\n        b\n# far\n    c\nz\n", 1, 7},
        {"def f():\n    a\n# not in\nz\n", 1, 2},
        {"def f():\n\tif x:\n\t    y\n        z\nq\n", 1, 4},
        {"x = sorted(y,\n  key=lambda a: a)\nz\n", 1, 2},
        {"x = [\n  lambda: 1,\n  2]\nz\n", 2, 1},
        {"defy = 1\ny = 2\n", 1, 1},
        {"def f():\r\n    pass\r\nx\r\n", 1, 2},
        {"def f():\r    pass\rx\r", 1, 2},
        {"# note\n\ndef f():\n    pass\n", 1, 4},
        {"def f():\n    s = 'open\n    t\nz\n", 1, 3},
        {"def f():\n    s = '''open\n    t\nz\n", 1, 2},
        {"cdef int f(int x):\n    return x\ny\n", 1, 2},
        {"def f():\n    pass\n", 3, 0},
        {"", 1, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct block_case *row = &cases[i];
        if (source_block_lines(row->source, strlen(row->source), row->first) != row->lines)
            fail_msg("%s: %u lines instead of %u", row->source,
                     source_block_lines(row->source, strlen(row->source), row->first), row->lines);
    }
}

static void adds_memory_up(void **state)
{
    (void)state;
    struct recording recording = {0};
    struct line_table table;
    struct line_heat heat;
    const struct selection all = {0};
    make(&recording);
    recording.lines_count = 0;
    const struct line_memory_row rows[] = {
        {FIRST, WORK, 11, 3, 5 << 20, 4 << 20, 7 << 20, 9 << 20},
        {OTHER, WORK_AGAIN, 11, 2, -(1 << 20), 0, 6 << 20, 10 << 20},
        {FIRST, WORK, 12, 1, 4 << 20, 0, 1 << 20, 1 << 20},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        recording_add_line_memory(&recording, &rows[i]);
    assert_int_equal(line_table_build(&recording, &all, GROUP_FUNCTION, &table, NULL), 0);
    assert_int_equal(table.function_count, 1);
    assert_true(table.has_heap && table.functions[0].has_memory);
    assert_int_equal(table.rows[0].hits, 5);
    assert_int_equal(table.rows[0].memory.heap_growth_bytes, 4 << 20);
    assert_int_equal(table.rows[0].memory.rss_growth_bytes, 4 << 20);
    assert_int_equal(table.rows[0].memory.heap_bytes, 7 << 20);
    assert_int_equal(table.rows[0].memory.rss_bytes, 10 << 20);
    line_table_clear(&table);
    const struct line_heat_of of = {.file = recording.codes[WORK].file};
    assert_int_equal(line_heat_build(&recording, &all, of, &heat, NULL), 0);
    assert_true(heat.has_memory);
    assert_int_equal(heat.rows[11].growth_bytes, 4 << 20);
    assert_int_equal(heat.rows[12].highest_bytes, 1 << 20);
    line_heat_clear(&heat);
    recording_clear(&recording);
}

static void says_which_line_grows(void **state)
{
    (void)state;
    struct recording recording = {0};
    struct findings findings;
    const struct selection all = {0};
    make(&recording);
    recording.lines_count = 0;
    recording_add_line_memory(&recording,
                              &(struct line_memory_row){FIRST, WORK, 12, 4, 0, 30 << 20, 0, 40 << 20});
    recording_add_line_memory(&recording,
                              &(struct line_memory_row){FIRST, WORK, 13, 4, 0, -(30 << 20), 0, 40 << 20});
    assert_int_equal(findings_build(&recording, &all, &findings, NULL), 0);
    assert_int_equal(findings.count, 1);
    assert_string_equal(findings.rows[0].text,
                        "Line 12 of work (a.py:10) adds 30.0 MiB to resident memory in 4 hits, with what it "
                        "calls.");
    findings_clear(&findings);
    recording_clear(&recording);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adds_threads_up),
        cmocka_unit_test(keeps_owners_apart),
        cmocka_unit_test(knows_what_is_not_known),
        cmocka_unit_test(gives_functions_their_times),
        cmocka_unit_test(heats_lines_by_what_is_exact),
        cmocka_unit_test(heats_a_function_of_two_names_once),
        cmocka_unit_test(says_which_line_is_hot),
        cmocka_unit_test(says_what_was_not_timed),
        cmocka_unit_test(adds_memory_up),
        cmocka_unit_test(says_which_line_grows),
        cmocka_unit_test(says_why_there_is_nothing),
        cmocka_unit_test(finds_the_end_of_functions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
