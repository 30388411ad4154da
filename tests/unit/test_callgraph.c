/* Call graphs: cycles, building and pruning, pairing two runs, and the text and colours they are drawn with. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/callgraph.h"
#include "analyse/cycles.h"
#include "analyse/pairing.h"
#include "analyse/prune.h"
#include "analyse/tree.h"
#include "base/bytes.h"
#include "base/err.h"
#include "export/dot_text.h"
#include "export/dot_writer.h"
#include "export/heat.h"
#include "store/recording.h"

/* ---- cycles ---- */

static void test_cycles(void **state)
{
    /* 0 → 1 ⇄ 2 → 3 (calls itself) → 4 → 5 → 6 → 4, and 7 alone */
    static const uint32_t first[] = {0, 1, 2, 4, 6, 7, 8, 9, 9};
    static const uint32_t callees[] = {1, 2, 1, 3, 3, 4, 5, 6, 4};
    struct cycles_graph graph = {8, first, callees};
    uint32_t cycle[8], count;

    (void)state;
    assert_int_equal(cycles_find(&graph, cycle, &count, NULL), 0);
    assert_int_equal(count, 2);
    assert_true(cycle[0] == 0 && cycle[3] == 0 && cycle[7] == 0);
    assert_true(cycle[1] != 0 && cycle[1] == cycle[2]);
    assert_true(cycle[4] != 0 && cycle[4] == cycle[5] && cycle[5] == cycle[6]);
    assert_int_not_equal(cycle[1], cycle[4]);
}

static void test_cycle_of_a_million(void **state)
{
    enum { COUNT = 1000000 };
    uint32_t *first = calloc(COUNT + 1, sizeof *first), *callees = calloc(COUNT, sizeof *callees);
    uint32_t *cycle = calloc(COUNT, sizeof *cycle), count;
    struct cycles_graph graph = {COUNT, first, callees};

    (void)state;
    assert_true(first && callees && cycle);
    for (uint32_t i = 0; i < COUNT; i++) {
        first[i + 1] = i + 1;
        callees[i] = (i + 1) % COUNT;
    }
    assert_int_equal(cycles_find(&graph, cycle, &count, NULL), 0);
    assert_int_equal(count, 1);
    assert_int_equal(cycle[COUNT - 1], 1);
    free(first);
    free(callees);
    free(cycle);
}

/* ---- graphs ---- */

static uint32_t add_code(struct recording *recording, const char *file, uint32_t line, const char *name,
                         const char *qualname)
{
    struct code code = {
        .name = strings_intern_text(&recording->strings, name),
        .qualname = strings_intern_text(&recording->strings, qualname),
        .file = strings_intern_text(&recording->strings, file),
        .line = line,
        .kind = CODE_PYTHON,
    };
    return recording_add_code(recording, &code);
}

static void add_flat(struct recording *recording, uint32_t code, uint64_t self_ns, uint64_t total_ns)
{
    struct flat_function row = {code, 1, 1, self_ns, total_ns};

    recording_add_function(recording, &row);
}

static void add_edge(struct recording *recording, uint32_t caller, uint32_t callee, uint64_t total_ns)
{
    struct flat_edge row = {caller, callee, 1, 1, 0, total_ns};

    recording_add_edge(recording, &row);
}

static void build(const struct recording *recording, struct callgraph *graph)
{
    struct selection everything = {0};
    struct err err = {0};

    assert_int_equal(callgraph_build(recording, &everything, graph, &err), 0);
}

static uint32_t find(const struct callgraph *graph, const char *name)
{
    for (uint32_t i = 0; i < graph->function_count; i++)
        if (strcmp(graph->functions[i].name, name) == 0)
            return i;
    fail_msg("no function %s", name);
    return 0;
}

static const struct callgraph_call *find_call(const struct callgraph *graph, const char *caller,
                                              const char *callee)
{
    uint32_t from = find(graph, caller), to = find(graph, callee);

    for (uint32_t i = graph->first_call[from]; i < graph->first_call[from + 1]; i++)
        if (graph->calls[i].callee == to)
            return &graph->calls[i];
    return NULL;
}

static bool is_kept(const struct callgraph *graph, const char *name)
{
    return graph->functions[find(graph, name)].kept;
}

/* a calls b and c; b calls d, c calls b: b is one call away from a, and two. */
static void fill_diamond(struct recording *recording)
{
    uint32_t a = add_code(recording, "/x/m.py", 1, "a", "a");
    uint32_t b = add_code(recording, "/x/m.py", 2, "b", "C.b");
    uint32_t c = add_code(recording, "/y/n.tar.py", 3, "c", "c");
    uint32_t d = add_code(recording, "<frozen p.q>", 4, "d", "d");

    add_flat(recording, a, 100, 1000);
    add_flat(recording, b, 300, 500);
    add_flat(recording, c, 400, 600);
    add_flat(recording, d, 200, 200);
    add_edge(recording, a, b, 300);
    add_edge(recording, a, c, 600);
    add_edge(recording, c, b, 200);
    add_edge(recording, b, d, 200);
}

static void test_build(void **state)
{
    struct recording recording = {0};
    struct callgraph graph = {0};

    (void)state;
    fill_diamond(&recording);
    build(&recording, &graph);
    assert_int_equal(graph.function_count, 4);
    assert_int_equal(graph.call_count, 4);
    assert_string_equal(graph.functions[0].name, "m:1:a");
    assert_string_equal(graph.functions[find(&graph, "m:2:C.b")].short_name, "m:2:b");
    assert_null(graph.functions[0].short_name);
    assert_float_equal(graph.functions[find(&graph, "n.tar:3:c")].total_share, 0.6, 1e-9);
    assert_float_equal(graph.functions[find(&graph, "<frozen p.q>:4:d")].self_share, 0.2, 1e-9);
    assert_float_equal(find_call(&graph, "n.tar:3:c", "m:2:C.b")->total_share, 0.2, 1e-9);
    callgraph_clear(&graph);
    recording_clear(&recording);
}

static void test_names(void **state)
{
    static const char *const files[][2] = {
        {"/a/json/__init__.py", "json/__init__:7:f"},
        {"json/__init__.py", "json/__init__:7:f"},
        {"__init__.py", "__init__:7:f"},
        {"/__init__.py", "__init__:7:f"},
        {"/a/b.c/mod", "mod:7:f"},
        {"/a/.hidden", ".hidden:7:f"},
        {"/a/..x.py", "..x:7:f"},
        {"<string>", "<string>:7:f"},
        {"<frozen a.b/c>", "<frozen a.b/c>:7:f"},
        {"", ":7:f"},
        {"x.py/", ":7:f"},
        {"~", "~:7:f"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        struct recording recording = {0};
        struct callgraph graph = {0};
        add_flat(&recording, add_code(&recording, files[i][0], 7, "f", "f"), 1, 1);
        build(&recording, &graph);
        assert_string_equal(graph.functions[0].name, files[i][1]);
        assert_true(prune_matches(&graph.functions[0], files[i][1]));
        assert_int_equal(prune_matches(&graph.functions[0], "__init__:*"),
                         strstr(files[i][1], "__init__") != NULL);
        callgraph_clear(&graph);
        recording_clear(&recording);
    }
}

static void test_same_function_in_two_processes(void **state)
{
    struct recording recording = {0};
    struct callgraph graph = {0};

    (void)state;
    for (int process = 0; process < 2; process++) {
        uint32_t outer = add_code(&recording, "m.py", 1, "outer", "outer");
        uint32_t inner = add_code(&recording, "m.py", 5, "inner", "inner");
        add_flat(&recording, outer, 10, 30);
        add_flat(&recording, inner, 20, 20);
        add_edge(&recording, outer, inner, 20);
    }
    build(&recording, &graph);
    assert_int_equal(graph.function_count, 2);
    assert_int_equal(graph.call_count, 1);
    assert_int_equal(graph.functions[0].total, 60);
    assert_int_equal(graph.calls[0].total, 40);
    assert_int_equal(graph.calls[0].calls, 2);
    callgraph_clear(&graph);
    recording_clear(&recording);
}

static void test_stacks_give_exact_edges(void **state)
{
    struct recording recording = {0};
    struct callgraph graph = {0};
    uint32_t process = recording_add_process(&recording, &(struct process){.pid = 1});
    uint32_t thread = recording_add_thread(&recording, &(struct thread){.process = process, .tid = 1});
    uint32_t f = add_code(&recording, "m.py", 1, "f", "f"), g = add_code(&recording, "m.py", 2, "g", "g");
    uint32_t parent = 0;

    (void)state;
    /* f → g → f → g: 10 ns in each; f's time counts once. */
    for (int depth = 0; depth < 4; depth++) {
        parent = recording_add_node(&recording, &(struct node){.parent = parent, .code = depth % 2 ? g : f});
        recording_add_calls(&recording, &(struct call_row){thread, parent, 1, 10});
    }
    build(&recording, &graph);
    assert_int_equal(graph.functions[find(&graph, "m:1:f")].total, 40);
    assert_int_equal(graph.functions[find(&graph, "m:2:g")].total, 30);
    assert_int_equal(find_call(&graph, "m:1:f", "m:2:g")->total, 30);
    assert_int_equal(find_call(&graph, "m:2:g", "m:1:f")->total, 20);
    assert_int_equal(graph.cycle_count, 2);
    assert_int_equal(graph.cycles[1].function_count, 2);
    assert_int_equal(graph.cycles[1].total, 40);
    callgraph_clear(&graph);
    recording_clear(&recording);
}

static void test_prune_by_limits(void **state)
{
    struct recording recording = {0};
    struct callgraph graph = {0};
    const char *paths[] = {"/x", "<frozen"};

    (void)state;
    fill_diamond(&recording);
    build(&recording, &graph);
    prune_by_limits(&graph, &(struct prune_limits){.function_share = 0.2, .call_share = 0.25});
    assert_int_equal(callgraph_kept_functions(&graph), 4); /* 0.2 is not below 0.2 */
    assert_int_equal(callgraph_kept_calls(&graph), 2);
    prune_by_limits(&graph, &(struct prune_limits){.paths = paths, .path_count = 2});
    assert_false(is_kept(&graph, "n.tar:3:c"));
    assert_int_equal(callgraph_kept_functions(&graph), 3);
    assert_int_equal(callgraph_kept_calls(&graph), 1);
    callgraph_clear(&graph);
    recording_clear(&recording);
}

static void test_prune_to(void **state)
{
    struct recording recording = {0};
    struct callgraph graph = {0};
    struct err err = {0};

    (void)state;
    fill_diamond(&recording);
    build(&recording, &graph);
    assert_int_equal(prune_to(&graph, "*:z", PRUNE_CALLEES, -1, &err), -1);
    assert_non_null(strstr(err.text, "*:z"));
    assert_int_equal(prune_to(&graph, "m:1:a", PRUNE_CALLEES, 2, NULL), 0);
    assert_int_equal(callgraph_kept_functions(&graph), 4); /* d by the shorter way */
    assert_int_equal(prune_to(&graph, "b", PRUNE_CALLERS, 0, NULL), 0);
    assert_int_equal(callgraph_kept_functions(&graph), 1);
    callgraph_clear(&graph);
    build(&recording, &graph);
    assert_int_equal(prune_to_entries(&graph, 1, NULL), 0);
    assert_false(is_kept(&graph, "<frozen p.q>:4:d"));
    assert_int_equal(callgraph_kept_functions(&graph), 3);
    assert_int_equal(callgraph_kept_calls(&graph), 3);
    callgraph_clear(&graph);
    recording_clear(&recording);
}

static void test_nothing(void **state)
{
    struct recording recording = {0};
    struct callgraph graph = {0};

    (void)state;
    assert_int_equal(recording_init(&recording, NULL), 0);
    build(&recording, &graph);
    assert_int_equal(graph.function_count, 0);
    prune_by_limits(&graph, &(struct prune_limits){.function_share = 1});
    assert_int_equal(prune_to_entries(&graph, 3, NULL), 0);
    callgraph_clear(&graph);
    recording_clear(&recording);
}

static void test_pairing_follows_moved_lines(void **state)
{
    struct recording recordings[2] = {0};
    struct callgraph graphs[2] = {0};
    struct pairing pairing = {0};

    (void)state;
    for (uint32_t run = 0; run < 2; run++) {
        add_flat(&recordings[run], add_code(&recordings[run], "m.py", 1, "same", "same"), 40, 40);
        add_flat(&recordings[run], add_code(&recordings[run], "m.py", 10 + run, "moved", "moved"), 30, 30);
        add_flat(&recordings[run], add_code(&recordings[run], "m.py", 20 + run, "twin", "twin"), 20, 20);
        add_flat(&recordings[run], add_code(&recordings[run], "m.py", 30 + run, "twin", "twin"), 10, 10);
        build(&recordings[run], &graphs[run]);
    }
    assert_int_equal(pairing_make(&graphs[0], &graphs[1], &pairing, NULL), 0);
    assert_int_equal(pairing.after_of[0], 0);
    assert_int_equal(pairing.after_of[1], 1);
    assert_int_equal(pairing.before_of[1], 1);
    assert_int_equal(pairing.after_of[2], PAIRING_NONE); /* which of two twins is not known */
    pairing_clear(&pairing);
    for (int run = 0; run < 2; run++) {
        callgraph_clear(&graphs[run]);
        recording_clear(&recordings[run]);
    }
}

/* ---- text and colours ---- */

static void assert_text(struct bytes *out, const char *expected)
{
    bytes_put_u8(out, 0);
    assert_string_equal((const char *)out->data, expected);
    bytes_clear(out);
}

static void test_visible(void **state)
{
    struct bytes out = {0};

    (void)state;
    dot_text_put_visible(&out, "a\nb\x01\x7f", 100);
    assert_text(&out, "a\\nb\\x01\\x7f");
    dot_text_put_visible(&out, "caf\xc3\xa9 \xe2\x86\x92 \xf0\x9f\x90\x8d", 100);
    assert_text(&out, "caf\xc3\xa9 \xe2\x86\x92 \xf0\x9f\x90\x8d");
    /* overlong, surrogate, past U+10FFFF, cut short */
    dot_text_put_visible(&out, "\xc0\x80|\xed\xa0\x80|\xf4\x90\x80\x80|\xe2\x86", 100);
    assert_int_equal(out.data[0], 0xef);
    bytes_put_u8(&out, 0);
    assert_null(strpbrk((const char *)out.data, "\xc0\xed\xf4"));
    bytes_clear(&out);
    dot_text_put_visible(&out, "12345", 5);
    assert_text(&out, "12345");
    dot_text_put_visible(&out, "123456", 5);
    assert_text(&out, "1234\xe2\x80\xa6");
}

static void test_quoted(void **state)
{
    struct bytes out = {0};

    (void)state;
    dot_text_put_quoted(&out, "a\"b\\N\n&lt;", 10);
    assert_text(&out, "\"a\\\"b\\\\N\\n&amp;lt;\"");
}

static void test_wrapped(void **state)
{
    struct bytes out = {0};

    (void)state;
    dot_text_put_wrapped(&out, "short:1:name");
    assert_text(&out, "short:1:name");
    dot_text_put_wrapped(&out, "~:0:<built-in method builtins.isinstance>");
    assert_text(&out, "~:0:<built-in method\nbuiltins.isinstance>");
    dot_text_put_wrapped(&out, "0123456789012345678901234567890123456789.x");
    assert_text(&out, "0123456789012345678901234567890123456789.\nx");
}

static void test_stripped(void **state)
{
    struct bytes out = {0};

    (void)state;
    dot_text_put_stripped(&out, "std::map<int, std::pair<a, b>>::at(int const&, f(int)) const");
    assert_text(&out, "std::map::at");
    dot_text_put_stripped(&out, "<built-in method builtins.len>");
    assert_text(&out, "<built-in method builtins.len>");
    dot_text_put_stripped(&out, "Drifter.locate.<lambda>");
    assert_text(&out, "Drifter.locate.<lambda>");
    dot_text_put_stripped(&out, "operator)(");
    assert_text(&out, "operator)(");
}

static double luminance(uint32_t color)
{
    /* An independent, coarser formula: enough to tell readable from not. */
    double red = (color >> 16 & 255) / 255.0, green = (color >> 8 & 255) / 255.0,
           blue = (color & 255) / 255.0;

    return 0.2126 * red * red + 0.7152 * green * green + 0.0722 * blue * blue;
}

static void test_text_is_readable(void **state)
{
    (void)state;
    for (const struct heat_theme *theme = heat_themes; theme->name; theme++)
        for (int i = 0; i <= 100; i++) {
            uint32_t color = heat_color(theme, 1, i / 100.0);
            double box = luminance(color), text = luminance(heat_text_on(color));
            double ratio = box > text ? (box + 0.05) / (text + 0.05) : (text + 0.05) / (box + 0.05);
            assert_true(ratio > 3.8);
            assert_true(1.05 / (luminance(heat_text_like(color)) + 0.05) > 3.8);
        }
    const struct heat_theme *theme = heat_find("color");
    assert_true((heat_color(theme, 1, 0) & 255) > (heat_color(theme, 1, 0) >> 16));
    assert_true((heat_color(theme, 1, 1) & 255) < (heat_color(theme, 1, 1) >> 16));
    assert_int_equal(heat_color(theme, 0.1, 1), heat_color(theme, 1, 1));
    assert_int_not_equal(heat_color(theme, 0.1, 0.2), heat_color(theme, 1, 0.2));
    assert_null(heat_find("rainbow"));
}

static void test_time_formats(void **state)
{
    static const char *const good[] = {"%.7g", "%f", "%6.3f s", "%%%e", "%+08.2F"};
    static const char *const bad[] = {"",    "%",   "%s",   "%n",  "%d",           "%*f",  "%f%f",
                                      "%lf", "%Lf", "%1$f", "%.3", "%.999999999f", "%999f"};

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        assert_int_equal(dot_writer_check_format(good[i], NULL), 0);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(dot_writer_check_format(bad[i], NULL), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cycles),
        cmocka_unit_test(test_cycle_of_a_million),
        cmocka_unit_test(test_build),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_same_function_in_two_processes),
        cmocka_unit_test(test_stacks_give_exact_edges),
        cmocka_unit_test(test_prune_by_limits),
        cmocka_unit_test(test_prune_to),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_pairing_follows_moved_lines),
        cmocka_unit_test(test_visible),
        cmocka_unit_test(test_quoted),
        cmocka_unit_test(test_wrapped),
        cmocka_unit_test(test_stripped),
        cmocka_unit_test(test_text_is_readable),
        cmocka_unit_test(test_time_formats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
