/* What recordings of memory say: measures of the whole run and of ranges, leaks, moved stacks, sites, findings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/chosen.h"
#include "analyse/findings.h"
#include "analyse/functions.h"
#include "analyse/groups.h"
#include "analyse/heap_kept.h"
#include "analyse/heap_move.h"
#include "analyse/heap_sites.h"
#include "analyse/heap_totals.h"
#include "analyse/line_heat.h"
#include "analyse/weights.h"
#include "base/bytes.h"
#include "base/err.h"
#include "store/recording.h"

#define KIB 1024ull
#define MIB (1024ull * KIB)

struct fixture {
    struct recording recording;
    uint32_t main, load, dumps, import;                                 /* codes */
    uint32_t main_node, load_node, dumps_node, import_node, numpy_node; /* stacks */
    uint32_t thread;
};

static uint32_t text(struct recording *recording, const char *words)
{
    return strings_intern(&recording->strings, words, strlen(words));
}

static uint32_t add_code(struct recording *recording, const char *name, const char *file, uint32_t line)
{
    return recording_add_code(recording, &(struct code){.name = text(recording, name),
                                                        .qualname = text(recording, name),
                                                        .file = text(recording, file),
                                                        .line = line,
                                                        .kind = CODE_PYTHON});
}

static uint32_t add_node(struct recording *recording, uint32_t parent, uint32_t code, uint32_t line)
{
    return recording_add_node(recording, &(struct node){parent, code, line});
}

/* main → load;  main → json.dumps;  main → import → numpy's module. */
static void init(struct fixture *fixture)
{
    *fixture = (struct fixture){0};
    struct recording *recording = &fixture->recording;
    assert_int_equal(recording_init(recording, NULL), 0);
    fixture->main = add_code(recording, "main", "/home/me/x.py", 1);
    fixture->load = add_code(recording, "load", "/home/me/x.py", 10);
    fixture->dumps = add_code(recording, "dumps", "/usr/lib/python3.12/json/__init__.py", 183);
    fixture->import = add_code(recording, "_find_and_load", "<frozen importlib._bootstrap>", 1349);
    uint32_t numpy = add_code(recording, "<module>", "/usr/lib/python3/dist-packages/numpy/__init__.py", 1);
    uint32_t process =
        recording_add_process(recording, &(struct process){.pid = 1, .rank = UINT32_MAX, .start_ns = 1});
    fixture->thread = recording_add_thread(recording, &(struct thread){.process = process, .tid = 10});
    fixture->main_node = add_node(recording, 0, fixture->main, 7);
    fixture->load_node = add_node(recording, fixture->main_node, fixture->load, 12);
    fixture->dumps_node = add_node(recording, fixture->main_node, fixture->dumps, 200);
    fixture->import_node = add_node(recording, fixture->main_node, fixture->import, 1360);
    fixture->numpy_node = add_node(recording, fixture->import_node, numpy, 119);
    recording_set_meta(recording, "mode", "mem");
    recording_set_meta(recording, "heap", "exact");
}

/* A state of which only live and total bytes matter, blocks of 1 KiB each. */
static void put(struct fixture *fixture, uint32_t node, uint64_t at_ns, uint64_t live_bytes,
                uint64_t total_bytes)
{
    recording_add_heap(&fixture->recording, &(struct heap_row){.at_ns = at_ns,
                                                               .live_bytes = live_bytes,
                                                               .live_count = live_bytes / KIB,
                                                               .total_bytes = total_bytes,
                                                               .total_count = total_bytes / KIB,
                                                               .peak_bytes = live_bytes,
                                                               .peak_count = live_bytes / KIB,
                                                               .thread = fixture->thread,
                                                               .node = node,
                                                               .allocator = HEAP_MALLOC});
}

static void add(const struct weight *weight, void *context)
{
    uint64_t *sum = context;
    sum[0] += weight->amount;
    sum[1] += weight->samples;
}

/* Bytes, or blocks of a measure of blocks, of all that the selection takes in. */
static uint64_t weigh(const struct recording *recording, struct selection selection)
{
    uint64_t sum[2] = {0};
    struct err err = {0};
    assert_int_equal(weights_each(recording, &selection, add, sum, &err), 0);
    return sum[0];
}

static void test_whole_run_is_the_last_state(void **state)
{
    struct fixture *fixture = *state;
    put(fixture, fixture->load_node, 100, 8 * KIB, 8 * KIB);
    put(fixture, fixture->load_node, 200, 2 * KIB, 20 * KIB);
    put(fixture, fixture->dumps_node, 150, 3 * KIB, 3 * KIB);
    assert_int_equal(weigh(&fixture->recording, (struct selection){.measure = MEASURE_TOTAL}), 23 * KIB);
    assert_int_equal(weigh(&fixture->recording, (struct selection){.measure = MEASURE_TOTAL_COUNT}), 23);
    assert_int_equal(weigh(&fixture->recording, (struct selection){0}), 5 * KIB); /* the peak */
    assert_int_equal(measure_of(&fixture->recording, NULL), MEASURE_PEAK);
    assert_int_equal(weigh(&fixture->recording, (struct selection){.measure = MEASURE_TIME}), 0);
    assert_int_equal(weigh(&fixture->recording, (struct selection){.thread = 99}), 0);
}

static void test_range_is_growth(void **state)
{
    struct fixture *fixture = *state;
    put(fixture, fixture->load_node, 100, 8 * KIB, 8 * KIB);
    put(fixture, fixture->load_node, 200, 2 * KIB, 20 * KIB);
    put(fixture, fixture->dumps_node, 150, 3 * KIB, 3 * KIB);
    const struct {
        uint64_t begin_ns, end_ns;
        enum measure measure;
        uint64_t expected;
    } rows[] = {
        {0, 120, MEASURE_PEAK, 8 * KIB},   {100, 300, MEASURE_PEAK, 3 * KIB}, /* load has shrunk */
        {100, 0, MEASURE_LEAKED, 3 * KIB}, {100, 300, MEASURE_TOTAL, 15 * KIB},
        {120, 149, MEASURE_TOTAL, 0},      {200, 300, MEASURE_PEAK, 0},
        {0, 99, MEASURE_TOTAL, 0},         {100, 150, MEASURE_PEAK_COUNT, 3},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(weigh(&fixture->recording, (struct selection){.begin_ns = rows[i].begin_ns,
                                                                       .end_ns = rows[i].end_ns,
                                                                       .measure = rows[i].measure}),
                         rows[i].expected);
}

static void log_row(struct fixture *fixture, uint64_t time_ns, uint64_t address, uint64_t size_bytes,
                    uint8_t allocator)
{
    uint32_t node = allocator ? fixture->load_node : 0;
    recording_add_allocation(&fixture->recording, &(struct allocation_row){time_ns, address, size_bytes,
                                                                           fixture->thread, node, allocator});
}

static void test_log_knows_each_block(void **state)
{
    struct fixture *fixture = *state;
    log_row(fixture, 10, 0x1000, 100, HEAP_MALLOC); /* lives on */
    log_row(fixture, 20, 0x2000, 200, HEAP_MALLOC);
    log_row(fixture, 21, 0x2000, 0, HEAP_FREE);     /* at once */
    log_row(fixture, 30, 0x2000, 300, HEAP_MALLOC); /* the same address again */
    log_row(fixture, 40, 0x9000, 8192, HEAP_MMAP);
    log_row(fixture, 50, 0x2000, 0, HEAP_FREE);    /* another was allocated between */
    log_row(fixture, 60, 0x9000, 4096, HEAP_FREE); /* half of the mapping */
    log_row(fixture, 70, 0x5000, 0, HEAP_FREE);    /* from before the log */
    const struct {
        uint64_t begin_ns, end_ns;
        enum measure measure;
        uint64_t expected;
    } rows[] = {
        {1, 0, MEASURE_TOTAL, 8792},     {1, 0, MEASURE_TOTAL_COUNT, 4}, {1, 0, MEASURE_PEAK, 100 + 4096},
        {1, 0, MEASURE_LEAKED_COUNT, 2}, {1, 0, MEASURE_TEMPORARY, 200}, {25, 45, MEASURE_PEAK, 300 + 8192},
        {25, 55, MEASURE_PEAK, 8192},    {25, 55, MEASURE_TEMPORARY, 0}, {45, 99, MEASURE_TOTAL, 0},
        {20, 21, MEASURE_PEAK, 200},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(weigh(&fixture->recording, (struct selection){.begin_ns = rows[i].begin_ns,
                                                                       .end_ns = rows[i].end_ns,
                                                                       .measure = rows[i].measure}),
                         rows[i].expected);
}

static void test_addresses_of_processes_are_apart(void **state)
{
    struct fixture *fixture = *state;
    uint32_t other = recording_add_process(&fixture->recording, &(struct process){.pid = 2});
    uint32_t thread =
        recording_add_thread(&fixture->recording, &(struct thread){.process = other, .tid = 20});
    log_row(fixture, 10, 0x1000, 100, HEAP_MALLOC);
    recording_add_allocation(&fixture->recording,
                             &(struct allocation_row){20, 0x1000, 0, thread, 0, HEAP_FREE});
    assert_int_equal(weigh(&fixture->recording, (struct selection){.begin_ns = 1, .measure = MEASURE_PEAK}),
                     100);
}

static void test_leaks_are_the_programs(void **state)
{
    struct fixture *fixture = *state;
    struct heap_totals totals;
    struct err err = {0};
    put(fixture, 0, 100, 50 * KIB, 50 * KIB);                   /* no stack */
    put(fixture, fixture->load_node, 100, 8 * KIB, 8 * KIB);    /* own */
    put(fixture, fixture->dumps_node, 100, 4 * KIB, 4 * KIB);   /* a library that own code called */
    put(fixture, fixture->numpy_node, 100, 90 * KIB, 95 * KIB); /* an import */
    struct heap_row table = {.at_ns = 100,
                             .live_bytes = 3072,
                             .live_count = 1,
                             .thread = fixture->thread,
                             .node = fixture->main_node,
                             .allocator = HEAP_REALLOC};
    recording_add_heap(&fixture->recording, &table); /* that of the arenas, mapped by the same stack */
    recording_add_heap(&fixture->recording, &(struct heap_row){.at_ns = 100,
                                                               .live_bytes = 2 * MIB,
                                                               .live_count = 2,
                                                               .total_bytes = 3 * MIB,
                                                               .total_count = 3,
                                                               .thread = fixture->thread,
                                                               .node = fixture->main_node,
                                                               .allocator = HEAP_MMAP});
    assert_int_equal(weigh(&fixture->recording, (struct selection){.measure = MEASURE_LEAKED}), 12 * KIB);
    assert_int_equal(heap_totals_build(&fixture->recording, NULL, &totals, &err), 0);
    assert_int_equal(totals.arenas.bytes, 2 * MIB);
    assert_int_equal(totals.kept.bytes, 143 * KIB);
    assert_int_equal(totals.outside.bytes, 50 * KIB);
    assert_false(totals.ended);
    fixture->recording.heap[5].total_bytes =
        5 * KIB; /* a mapping that is no arena: the block is the program's */
    fixture->recording.heap[5].live_bytes = 5 * KIB;
    assert_int_equal(weigh(&fixture->recording, (struct selection){.measure = MEASURE_LEAKED}), 20 * KIB);
}

/* 300 arenas touch two spans of 256 MiB or three, whose leaves and branch stay; a fifth block is the program's. */
static void test_the_tree_of_arenas_is_no_leak(void **state)
{
    struct fixture *fixture = *state;
    struct heap_row tree = {.at_ns = 100,
                            .live_bytes = 3 * 2 * KIB + 8 * KIB,
                            .live_count = 4,
                            .thread = fixture->thread,
                            .node = fixture->main_node,
                            .allocator = HEAP_CALLOC};
    recording_add_heap(&fixture->recording, &tree);
    recording_add_heap(&fixture->recording, &(struct heap_row){.at_ns = 100,
                                                               .total_bytes = 300 * MIB,
                                                               .total_count = 300,
                                                               .thread = fixture->thread,
                                                               .node = fixture->main_node,
                                                               .allocator = HEAP_MMAP});
    const struct selection leaked = {.measure = MEASURE_LEAKED};
    assert_int_equal(weigh(&fixture->recording, leaked), 0);
    struct heap_row *row = &fixture->recording.heap[0];
    row->live_count = 5;
    row->live_bytes = 5 * 2 * KIB;
    assert_int_equal(weigh(&fixture->recording, leaked), 10 * KIB);
    row->live_count = 1;
    row->live_bytes = 3 * KIB;
    assert_int_equal(weigh(&fixture->recording, leaked), 3 * KIB);
}

static void test_arenas_of_samples_are_about_a_mebibyte(void **state)
{
    (void)state;
    struct heap_row row = {.live_bytes = MIB * 23 / 20, .live_count = 1, .allocator = HEAP_MMAP};
    assert_false(heap_kept_is_arenas(&row, false));
    assert_true(heap_kept_is_arenas(&row, true));
    row.live_bytes = 3 * MIB;
    assert_false(heap_kept_is_arenas(&row, true));
    row.allocator = HEAP_MALLOC;
    row.live_bytes = MIB;
    assert_false(heap_kept_is_arenas(&row, false));
}

/* Two stacks become one: at each time its state is the sum of theirs. */
static void test_moved_stacks_add_up(void **state)
{
    struct fixture *fixture = *state;
    struct err err = {0};
    put(fixture, fixture->load_node, 100, 8 * KIB, 8 * KIB);
    put(fixture, fixture->load_node, 300, 1 * KIB, 9 * KIB);
    put(fixture, fixture->dumps_node, 200, 4 * KIB, 4 * KIB);
    uint32_t of_node[8] = {0};
    of_node[fixture->load_node] = of_node[fixture->dumps_node] = fixture->main_node;
    struct heap_row *rows = fixture->recording.heap;
    assert_int_equal(heap_move_rows(rows, 3, of_node, NULL, &err), 0);
    const uint64_t live[] = {8 * KIB, 12 * KIB, 5 * KIB}, total[] = {8 * KIB, 12 * KIB, 13 * KIB};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(rows[i].at_ns, 100 + 100 * i);
        assert_int_equal(rows[i].node, fixture->main_node);
        assert_int_equal(rows[i].live_bytes, live[i]);
        assert_int_equal(rows[i].total_bytes, total[i]);
    }
}

/* Without the frames of libraries no byte is lost, and leaks stay what they were. */
static void test_own_code_keeps_amounts(void **state)
{
    struct fixture *fixture = *state;
    struct chosen own = {0};
    struct err err = {0};
    put(fixture, fixture->load_node, 100, 8 * KIB, 8 * KIB);
    put(fixture, fixture->dumps_node, 100, 4 * KIB, 4 * KIB);
    put(fixture, fixture->numpy_node, 100, 90 * KIB, 95 * KIB);
    assert_int_equal(chosen_build(&fixture->recording, (struct chosen_by){.own = true}, &own, &err), 0);
    for (enum measure measure = MEASURE_PEAK; measure < MEASURE_END; measure++)
        assert_int_equal(weigh(&own.recording, (struct selection){.measure = measure}),
                         weigh(&fixture->recording, (struct selection){.measure = measure}));
    assert_int_equal(weigh(&own.recording, (struct selection){.measure = MEASURE_LEAKED}), 12 * KIB);
    chosen_clear(&own);
}

static void test_trees_and_tables(void **state)
{
    struct fixture *fixture = *state;
    struct functions functions;
    struct ranking lines;
    struct line_heat heat;
    struct err err = {0};
    put(fixture, 0, 100, 50 * KIB, 50 * KIB);
    put(fixture, fixture->main_node, 100, 2 * KIB, 2 * KIB);
    put(fixture, fixture->load_node, 100, 8 * KIB, 8 * KIB);
    assert_int_equal(functions_build(&fixture->recording, NULL, &functions, &err), 0);
    assert_int_equal(functions.measure, MEASURE_PEAK);
    assert_int_equal(functions.total, 60 * KIB); /* what no function has is part of the whole */
    assert_int_equal(functions_find(&functions, fixture->main)->self, 2 * KIB);
    assert_int_equal(functions_find(&functions, fixture->main)->total, 10 * KIB);
    assert_int_equal(functions_find(&functions, fixture->main)->total_samples, 10);
    const struct selection all = {0};
    assert_int_equal(groups_build(&fixture->recording, &all, GROUP_LINE, LABEL_BASE, &lines, &err), 0);
    assert_int_equal(lines.count, 2);
    assert_string_equal(lines.rows[1].label, "x.py:12(load)");
    assert_int_equal(lines.rows[1].line, 12);
    assert_int_equal(lines.rows[1].id, fixture->load);
    assert_int_equal(lines.rows[1].self, 8 * KIB);
    struct line_heat_of of = {.file = fixture->recording.codes[fixture->load].file};
    assert_int_equal(line_heat_build(&fixture->recording, &all, of, &heat, &err), 0);
    assert_int_equal(heat.rows[7].total, 10 * KIB);
    assert_int_equal(heat.rows[12].self, 8 * KIB);
    line_heat_clear(&heat);
    ranking_clear(&lines);
    functions_clear(&functions);
}

static void test_sites_are_the_programs_lines(void **state)
{
    struct fixture *fixture = *state;
    struct heap_sites sites;
    struct bytes out = {0};
    struct err err = {0};
    put(fixture, fixture->dumps_node, 100, 9 * KIB, 9 * KIB);
    put(fixture, fixture->load_node, 100, 8 * KIB, 30 * KIB);
    assert_int_equal(heap_sites_build(&fixture->recording, NULL, &sites, &err), 0);
    const struct heap_site *most = heap_sites_most(&sites, MEASURE_PEAK);
    assert_int_equal(most->code, fixture->main); /* that called json */
    assert_int_equal(most->line, 7);
    assert_int_equal(heap_sites_sort(&sites, MEASURE_TOTAL_COUNT, &err), 0);
    assert_int_equal(sites.rows[0].code, fixture->load);
    heap_sites_put(&fixture->recording, &sites.rows[0], &out);
    bytes_put_u8(&out, 0);
    assert_string_equal((char *)out.data, "load() at me/x.py:12");
    bytes_clear(&out);
    heap_sites_clear(&sites);
}

static const char *finding(const struct findings *findings, const char *topic)
{
    for (uint32_t i = 0; i < findings->count; i++)
        if (strcmp(findings->rows[i].topic, topic) == 0)
            return findings->rows[i].text;
    return "";
}

static void test_findings(void **state)
{
    struct fixture *fixture = *state;
    struct findings findings;
    struct err err = {0};
    put(fixture, fixture->load_node, 100, 17 * MIB, 17 * MIB);
    put(fixture, fixture->dumps_node, 100, 0, 400 * MIB);
    recording_set_meta(&fixture->recording, "heap_end_ns", "90");
    assert_int_equal(findings_build(&fixture->recording, NULL, &findings, &err), 0);
    assert_string_equal(finding(&findings, "peak"),
                        "100% of the 17.0 MiB at the peak come from load() at me/x.py:12: 17,408 blocks.");
    assert_string_equal(
        finding(&findings, "leak"),
        "17.0 MiB allocated by load() at me/x.py:12 were never freed: 17,408 blocks of 1.00 KiB.");
    assert_string_equal(
        finding(&findings, "many-allocations"),
        "96% of the 427,008 allocations are made by main() at me/x.py:7: 409,600 blocks of 1.00 KiB.");
    assert_string_equal(finding(&findings, "temporary"), "");
    findings_clear(&findings);
}

static void test_sizes_of_processes_are_added(void **state)
{
    struct fixture *fixture = *state;
    struct heap_histogram histogram;
    struct err err = {0};
    const struct heap_size_row rows[] = {{64, 2, 130, 1}, {16, 5, 100, 1}, {64, 1, 70, 2}};
    for (int i = 0; i < 3; i++)
        recording_add_heap_size(&fixture->recording, &rows[i]);
    assert_int_equal(heap_totals_histogram(&fixture->recording, NULL, &histogram, &err), 0);
    assert_int_equal(histogram.count, 2);
    assert_int_equal(histogram.rows[0].end_bytes, 64);
    assert_int_equal(histogram.rows[1].count, 3);
    assert_int_equal(histogram.rows[1].total_bytes, 200);
    free(histogram.rows);
    const struct selection first = {.process = 1};
    assert_int_equal(heap_totals_histogram(&fixture->recording, &first, &histogram, &err), 0);
    assert_int_equal(histogram.rows[1].count, 2);
    free(histogram.rows);
}

static void test_names_of_measures(void **state)
{
    enum measure measure = MEASURE_TIME;
    struct err err = {0};
    (void)state;
    for (int i = 0; measure_names[i]; i++) {
        assert_int_equal(measure_find(measure_names[i], &measure, &err), 0);
        assert_string_equal(measure_name(measure), measure_names[i]);
    }
    assert_int_equal(measure_find("", &measure, &err), 0);
    assert_int_equal(measure, MEASURE_NATURAL);
    assert_int_equal(measure_find("weight", &measure, &err), -1);
    assert_non_null(strstr(err.text, "peak, total, leaked"));
    assert_string_equal(measure_quantity(MEASURE_PEAK, 812 * MIB).text, "812 MiB");
    assert_string_equal(measure_quantity(MEASURE_TOTAL_COUNT, 3100000).text, "3,100,000");
}

static int set_up(void **state)
{
    static struct fixture fixture;
    init(&fixture);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    recording_clear(&fixture->recording);
    return 0;
}

#define WITH_FIXTURE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FIXTURE(test_whole_run_is_the_last_state),
        WITH_FIXTURE(test_range_is_growth),
        WITH_FIXTURE(test_log_knows_each_block),
        WITH_FIXTURE(test_addresses_of_processes_are_apart),
        WITH_FIXTURE(test_leaks_are_the_programs),
        WITH_FIXTURE(test_the_tree_of_arenas_is_no_leak),
        cmocka_unit_test(test_arenas_of_samples_are_about_a_mebibyte),
        WITH_FIXTURE(test_moved_stacks_add_up),
        WITH_FIXTURE(test_own_code_keeps_amounts),
        WITH_FIXTURE(test_trees_and_tables),
        WITH_FIXTURE(test_sites_are_the_programs_lines),
        WITH_FIXTURE(test_findings),
        WITH_FIXTURE(test_sizes_of_processes_are_added),
        cmocka_unit_test(test_names_of_measures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
