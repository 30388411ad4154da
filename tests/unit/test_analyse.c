/* analyse: call trees, function tables, groups, restrictions and findings of recordings with known answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/findings.h"
#include "analyse/fold.h"
#include "analyse/functions.h"
#include "analyse/groups.h"
#include "analyse/ranking.h"
#include "analyse/restrict.h"
#include "analyse/series.h"
#include "analyse/tree.h"
#include "base/bytes.h"
#include "base/err.h"
#include "store/recording.h"

static struct err err;

static uint32_t text(struct recording *recording, const char *words)
{
    return strings_intern_text(&recording->strings, words);
}

static uint32_t add_code(struct recording *recording, const char *name, const char *file, uint32_t line)
{
    struct code code = {.name = text(recording, name),
                        .qualname = text(recording, name),
                        .file = text(recording, file),
                        .line = line,
                        .kind = line ? CODE_PYTHON : CODE_C};
    return recording_add_code(recording, &code);
}

/* One function for each letter: a is code 1, at line 1 of a.py. Threads 1 and 2, of processes 1 and 2. */
static void begin(struct recording *recording)
{
    *recording = (struct recording){0};
    assert_int_equal(recording_init(recording, &err), 0);
    for (char letter = 'a'; letter <= 'h'; letter++) {
        char name[] = {letter, '\0'}, file[] = {'/', 'x', '/', letter, '.', 'p', 'y', '\0'};
        assert_int_equal(add_code(recording, name, file, 1 + (uint32_t)(letter - 'a')), 1 + letter - 'a');
    }
    for (uint32_t i = 1; i <= 2; i++) {
        assert_int_equal(
            recording_add_process(recording, &(struct process){.pid = 100 + i, .rank = UINT32_MAX}), i);
        assert_int_equal(recording_add_thread(recording, &(struct thread){.process = i, .tid = 200 + i}), i);
    }
}

static uint32_t child(struct recording *recording, uint32_t parent, uint32_t code)
{
    for (uint32_t i = 1; i < recording->nodes_count; i++)
        if (recording->nodes[i].parent == parent && recording->nodes[i].code == code)
            return i;
    return recording_add_node(recording, &(struct node){.parent = parent, .code = code});
}

/* calls and self time of the path "abab" in a thread. */
static void put(struct recording *recording, uint32_t thread, const char *path, uint64_t calls,
                uint64_t self_ns)
{
    uint32_t node = 0;
    for (; *path; path++)
        node = child(recording, node, 1 + (uint32_t)(*path - 'a'));
    recording_add_calls(recording, &(struct call_row){thread, node, calls, self_ns});
}

static void check_function(const struct functions *functions, char letter, uint64_t calls, uint64_t primitive,
                           uint64_t self_ns, uint64_t total_ns)
{
    const struct function_row *row = functions_find(functions, 1 + (uint32_t)(letter - 'a'));
    assert_non_null(row);
    assert_int_equal(row->calls, calls);
    assert_int_equal(row->primitive_calls, primitive);
    assert_int_equal(row->self, self_ns);
    assert_int_equal(row->total, total_ns);
}

static void check_edge(const struct functions *functions, const char *pair, uint64_t calls,
                       uint64_t primitive, uint64_t self_ns, uint64_t total_ns)
{
    for (uint32_t i = 0; i < functions->edge_count; i++) {
        const struct edge_row *edge = &functions->edges[i];
        if (edge->caller != 1 + (uint32_t)(pair[0] - 'a') || edge->callee != 1 + (uint32_t)(pair[1] - 'a'))
            continue;
        assert_int_equal(edge->calls, calls);
        assert_int_equal(edge->primitive_calls, primitive);
        assert_int_equal(edge->self, self_ns);
        assert_int_equal(edge->total, total_ns);
        return;
    }
    fail_msg("no edge %s", pair);
}

static void direct_recursion_counts_once(void **state)
{
    (void)state;
    struct recording recording;
    struct functions functions;
    begin(&recording);
    put(&recording, 1, "a", 1, 10);
    put(&recording, 1, "ab", 2, 20);
    put(&recording, 1, "abb", 3, 30);
    put(&recording, 1, "abbb", 4, 40);
    put(&recording, 1, "abbbc", 5, 50);
    assert_int_equal(functions_build(&recording, NULL, &functions, &err), 0);
    check_function(&functions, 'a', 1, 1, 10, 150);
    check_function(&functions, 'b', 9, 2, 90, 140);
    check_function(&functions, 'c', 5, 5, 50, 50);
    check_edge(&functions, "ab", 2, 2, 20, 140);
    check_edge(&functions, "bb", 7, 3, 70, 120);
    check_edge(&functions, "bc", 5, 5, 50, 50);
    assert_int_equal(functions.edge_count, 3);
    assert_int_equal(functions.total, 150);
    assert_int_equal(functions.total_calls, 15);
    assert_int_equal(functions.total_primitive_calls, 8);
    functions_clear(&functions);
    recording_clear(&recording);
}

static void mutual_recursion_counts_pairs_once(void **state)
{
    (void)state;
    struct recording recording;
    struct functions functions;
    begin(&recording);
    put(&recording, 1, "a", 1, 1);
    put(&recording, 1, "ab", 1, 2);
    put(&recording, 1, "aba", 1, 4);
    put(&recording, 1, "abab", 1, 8);
    assert_int_equal(functions_build(&recording, NULL, &functions, &err), 0);
    check_function(&functions, 'a', 2, 1, 5, 15);
    check_function(&functions, 'b', 2, 1, 10, 14);
    check_edge(&functions, "ab", 2, 1, 10, 14);
    check_edge(&functions, "ba", 1, 1, 4, 12);
    functions_clear(&functions);
    recording_clear(&recording);
}

static void selection_takes_a_thread_or_a_process(void **state)
{
    (void)state;
    struct recording recording;
    struct functions functions;
    struct tree tree;
    begin(&recording);
    put(&recording, 1, "ab", 1, 5);
    put(&recording, 2, "ac", 7, 9);
    assert_int_equal(functions_build(&recording, &(struct selection){.thread = 2}, &functions, &err), 0);
    assert_int_equal(functions.row_count, 2);
    check_function(&functions, 'a', 0, 0, 0, 9);
    check_function(&functions, 'c', 7, 7, 9, 9);
    functions_clear(&functions);
    assert_int_equal(tree_build(&recording, &(struct selection){.process = 1}, &tree, &err), 0);
    assert_int_equal(tree.count, 3);
    assert_int_equal(tree.nodes[2].code, 2);
    assert_int_equal(tree.nodes[0].total, 5);
    tree_clear(&tree);
    recording_clear(&recording);
}

/* cProfile's own bookkeeping on a random program, against what the tree gives. */
struct model {
    struct function_row rows[9];
    struct edge_row edges[9][9];
    uint32_t active[9], pair_active[9][9];
};

struct frame {
    uint32_t code, node;
    uint64_t start_ns, inner_ns;
};

static void model_return(struct model *model, struct recording *recording, uint32_t thread,
                         struct frame *frames, uint32_t depth, uint64_t now_ns)
{
    struct frame *frame = &frames[depth];
    uint64_t total_ns = now_ns - frame->start_ns, self_ns = total_ns - frame->inner_ns;
    struct function_row *row = &model->rows[frame->code];
    bool outer = --model->active[frame->code] == 0;
    row->calls++;
    row->self += self_ns;
    row->primitive_calls += outer;
    row->total += outer ? total_ns : 0;
    recording_add_calls(recording, &(struct call_row){thread, frame->node, 1, self_ns});
    if (depth <= 1)
        return;
    uint32_t caller = frames[depth - 1].code;
    struct edge_row *edge = &model->edges[caller][frame->code];
    outer = --model->pair_active[caller][frame->code] == 0;
    frames[depth - 1].inner_ns += total_ns;
    edge->calls++;
    edge->self += self_ns;
    edge->primitive_calls += outer;
    edge->total += outer ? total_ns : 0;
}

static void run_model(struct model *model, struct recording *recording, uint32_t thread, unsigned *seed)
{
    struct frame frames[40] = {0};
    uint32_t depth = 0;
    uint64_t now_ns = 0;
    for (int event = 0; event < 4000 || depth; event++) {
        now_ns += 1 + (uint64_t)rand_r(seed) % 100;
        if (depth < 39 && event < 4000 && rand_r(seed) % 100 < 52) {
            uint32_t code = 1 + (uint32_t)rand_r(seed) % 8, caller = frames[depth].code;
            frames[depth + 1] = (struct frame){code, child(recording, frames[depth].node, code), now_ns, 0};
            model->active[code]++;
            model->pair_active[caller][code] += depth > 0;
            depth++;
        } else if (depth) {
            model_return(model, recording, thread, frames, depth--, now_ns);
        }
    }
}

static void numbers_equal_cprofiles(void **state)
{
    (void)state;
    struct recording recording;
    struct functions functions;
    struct model model = {0};
    unsigned seed = 7;
    begin(&recording);
    run_model(&model, &recording, 1, &seed);
    run_model(&model, &recording, 2, &seed);
    assert_int_equal(recording_compact_calls(&recording, &err), 0);
    assert_int_equal(functions_build(&recording, NULL, &functions, &err), 0);
    for (uint32_t code = 1; code < 9; code++) {
        const struct function_row *row = &model.rows[code];
        check_function(&functions, (char)('a' + code - 1), row->calls, row->primitive_calls, row->self,
                       row->total);
        for (uint32_t caller = 1; caller < 9; caller++) {
            const struct edge_row *edge = &model.edges[caller][code];
            char pair[] = {(char)('a' + caller - 1), (char)('a' + code - 1), '\0'};
            check_edge(&functions, pair, edge->calls, edge->primitive_calls, edge->self, edge->total);
        }
    }
    functions_clear(&functions);
    recording_clear(&recording);
}

static void a_million_deep_is_no_limit(void **state)
{
    (void)state;
    struct recording recording;
    struct functions functions;
    struct tree tree;
    begin(&recording);
    uint32_t node = 0;
    for (uint32_t i = 0; i < 1000000; i++) {
        node = recording_add_node(&recording, &(struct node){.parent = node, .code = 1 + i % 3});
        recording_add_calls(&recording, &(struct call_row){1, node, 1, 1});
    }
    assert_int_equal(functions_build(&recording, NULL, &functions, &err), 0);
    check_function(&functions, 'a', 333334, 1, 333334, 1000000);
    check_edge(&functions, "ab", 333333, 1, 333333, 999999);
    functions_clear(&functions);
    assert_int_equal(tree_build(&recording, NULL, &tree, &err), 0);
    assert_int_equal(fold_recursion(&tree, recording.codes_count, &err), 0);
    assert_int_equal(tree.count, 4);
    assert_int_equal(tree.nodes[1].calls, 333334);
    assert_true(tree.nodes[1].recursive);
    assert_int_equal(tree.nodes[1].total, 1000000);
    tree_clear(&tree);
    assert_int_equal(tree_build_bottom_up(&recording, NULL, &tree, &err), 0);
    assert_int_equal(tree.nodes[0].total, 1000000);
    tree_clear(&tree);
    recording_clear(&recording);
}

static void children_are_hottest_first(void **state)
{
    (void)state;
    struct recording recording;
    struct tree tree;
    begin(&recording);
    put(&recording, 1, "a", 1, 1);
    put(&recording, 1, "ab", 1, 5);
    put(&recording, 1, "ac", 1, 50);
    put(&recording, 1, "ad", 1, 20);
    put(&recording, 1, "ae", 1, 50);
    assert_int_equal(tree_build(&recording, NULL, &tree, &err), 0);
    char order[8] = "";
    for (uint32_t i = tree.nodes[1].first_child, n = 0; i; i = tree.nodes[i].next_sibling)
        order[n++] = (char)('a' + tree.nodes[i].code - 1);
    assert_string_equal(order, "cedb");
    assert_false(tree.estimated);
    tree_clear(&tree);
    recording_clear(&recording);
}

static void bottom_up_follows_the_callers(void **state)
{
    (void)state;
    struct recording recording;
    struct tree tree;
    begin(&recording);
    put(&recording, 1, "ac", 1, 30);
    put(&recording, 1, "bc", 2, 70);
    put(&recording, 1, "bcc", 1, 5);
    assert_int_equal(tree_build_bottom_up(&recording, NULL, &tree, &err), 0);
    const struct tree_node *nodes = tree.nodes, *leaf = &nodes[nodes[0].first_child];
    assert_int_equal(leaf->code, 3);
    assert_int_equal(leaf->total, 105);
    const struct tree_node *caller = &nodes[leaf->first_child];
    assert_int_equal(caller->code, 2);
    assert_int_equal(caller->total, 75);
    assert_int_equal(nodes[caller->next_sibling].code, 1);
    assert_int_equal(nodes[caller->next_sibling].total, 30);
    tree_clear(&tree);
    recording_clear(&recording);
}

static void flat_profiles_give_estimated_trees(void **state)
{
    (void)state;
    struct recording recording;
    struct tree tree;
    struct functions functions;
    begin(&recording);
    recording_add_function(&recording, &(struct flat_function){1, 1, 1, 10, 100});
    recording_add_function(&recording, &(struct flat_function){2, 3, 1, 30, 90});
    recording_add_function(&recording, &(struct flat_function){3, 4, 4, 60, 60});
    recording_add_edge(&recording, &(struct flat_edge){1, 2, 1, 1, 10, 90});
    recording_add_edge(&recording, &(struct flat_edge){2, 2, 2, 1, 20, 60});
    recording_add_edge(&recording, &(struct flat_edge){2, 3, 4, 4, 60, 60});
    assert_int_equal(tree_build(&recording, NULL, &tree, &err), 0);
    assert_true(tree.estimated);
    assert_int_equal(tree.count, 4);
    assert_int_equal(tree.nodes[0].total, 100);
    assert_int_equal(tree.nodes[2].total, 90);
    assert_int_equal(tree.nodes[2].self, 30);
    assert_int_equal(tree.nodes[3].total, 60);
    tree_clear(&tree);
    assert_int_equal(functions_build(&recording, NULL, &functions, &err), 0);
    check_edge(&functions, "bb", 2, 1, 20, 60);
    functions_clear(&functions);
    recording_clear(&recording);
}

static void modules_count_their_time_once(void **state)
{
    (void)state;
    struct recording recording;
    struct ranking ranking;
    begin(&recording);
    uint32_t one = text(&recording, "one"), two = text(&recording, "two");
    for (uint32_t code = 1; code <= 8; code++)
        recording.codes[code].module = code <= 2 ? one : two;
    put(&recording, 1, "a", 1, 1);
    put(&recording, 1, "ab", 2, 2);
    put(&recording, 1, "abc", 4, 4);
    put(&recording, 1, "abca", 8, 8);
    assert_int_equal(groups_build(&recording, NULL, GROUP_MODULE, LABEL_SHORT, &ranking, &err), 0);
    assert_int_equal(ranking_sort(&ranking, (const char *const[]){"name"}, 1, false, &err), 0);
    assert_int_equal(ranking.count, 2);
    assert_string_equal(ranking.rows[0].label, "one");
    assert_int_equal(ranking.rows[0].calls, 11);
    assert_int_equal(ranking.rows[0].primitive_calls, 1);
    assert_int_equal(ranking.rows[0].self, 11);
    assert_int_equal(ranking.rows[0].total, 15);
    assert_int_equal(ranking.rows[1].total, 12);
    ranking_clear(&ranking);
    recording_clear(&recording);
}

static void build_table(struct recording *recording, struct ranking *ranking)
{
    struct functions functions;
    begin(recording);
    for (char letter = 'a'; letter <= 'h'; letter++) {
        char path[] = {letter, '\0'};
        put(recording, 1, path, 1 + (uint64_t)(letter - 'a') % 3, (uint64_t)(letter - 'a'));
    }
    assert_int_equal(functions_build(recording, NULL, &functions, &err), 0);
    assert_int_equal(ranking_build(recording, &functions, LABEL_BASE, ranking, &err), 0);
    functions_clear(&functions);
}

static void check_order(const struct ranking *ranking, const char *letters)
{
    char order[16] = "";
    for (uint32_t i = 0; i < ranking->count && i < 15; i++)
        order[i] = ranking->rows[i].name[0];
    assert_string_equal(order, letters);
}

static void tables_sort_by_pstats_keys(void **state)
{
    (void)state;
    struct recording recording;
    struct ranking ranking;
    build_table(&recording, &ranking);
    assert_string_equal(ranking.rows[0].label, "a.py:1(a)");
    const struct {
        const char *keys[2];
        size_t count;
        bool reverse;
        const char *order;
    } cases[] = {
        {{"tottime"}, 1, false, "hgfedcba"},
        {{"tot"}, 1, true, "abcdefgh"},
        {{"ncalls"}, 1, false, "cfbehadg"},
        {{"calls", "name"}, 2, false, "cfbehadg"},
        {{"cum"}, 1, false, "hgfedcba"},
        {{"line"}, 1, true, "hgfedcba"},
        {{"nfl"}, 1, false, "abcdefgh"},
        {{"n"}, 1, false, NULL},
        {{""}, 1, false, NULL},
        {{"percall"}, 1, false, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err why = {0};
        int result = ranking_sort(&ranking, cases[i].keys, cases[i].count, cases[i].reverse, &why);
        assert_int_equal(result, cases[i].order ? 0 : -1);
        if (cases[i].order)
            check_order(&ranking, cases[i].order);
    }
    ranking_clear(&ranking);
    recording_clear(&recording);
}

static void restrictions_apply_in_order(void **state)
{
    (void)state;
    const struct {
        const char *restrictions[2];
        size_t count;
        const char *left;
    } cases[] = {
        {{"3"}, 1, "abc"},           {{"0.5"}, 1, "abcd"},       {{"[ceh]"}, 1, "ceh"},
        {{"[ceh]", "0.5"}, 2, "ce"}, {{"0.5", "[ceh]"}, 2, "c"}, {{"py:\\d\\(g"}, 1, "g"},
        {{"99"}, 1, "abcdefgh"},     {{"1.0"}, 1, "abcdefgh"},   {{"nothing"}, 1, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct recording recording;
        struct ranking ranking;
        build_table(&recording, &ranking);
        assert_int_equal(restrict_apply(&ranking, cases[i].restrictions, cases[i].count, &err), 0);
        check_order(&ranking, cases[i].left);
        struct err why = {0};
        assert_int_equal(restrict_apply(&ranking, (const char *const[]){"("}, 1, &why), -1);
        ranking_clear(&ranking);
        recording_clear(&recording);
    }
}

static void labels_are_short_and_clear(void **state)
{
    (void)state;
    assert_string_equal(labels_path("/usr/lib/python3.11/json/decoder.py", LABEL_SHORT), "json/decoder.py");
    assert_string_equal(labels_path("/v/lib/python3.9/site-packages/a/b.py", LABEL_SHORT), "a/b.py");
    assert_string_equal(labels_path("/home/me/project/app/run.py", LABEL_SHORT), "app/run.py");
    assert_string_equal(labels_path("run.py", LABEL_SHORT), "run.py");
    assert_string_equal(labels_path("/a/b/c.py", LABEL_BASE), "c.py");
    assert_string_equal(labels_path("<frozen importlib._bootstrap>", LABEL_BASE),
                        "<frozen importlib._bootstrap>");
    struct recording recording;
    begin(&recording);
    const struct {
        const char *name, *standard, *words, *module;
    } cases[] = {
        {"<built-in method time.sleep>", "{built-in method time.sleep}", "time.sleep (C)", "time"},
        {"<built-in method builtins.len>", "{built-in method builtins.len}", "len (C)", "builtins"},
        {"<method 'append' of 'list' objects>", "{method 'append' of 'list' objects}", "list.append (C)",
         "builtins"},
        {"<method 'dot' of 'numpy.ndarray' objects>", "{method 'dot' of 'numpy.ndarray' objects}",
         "numpy.ndarray.dot (C)", "numpy"},
        {"odd", "odd", "odd (C)", "builtins"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t code = add_code(&recording, cases[i].name, "~", 0);
        struct bytes out = {0};
        labels_standard(&recording, code, LABEL_SHORT, &out);
        bytes_put_text(&out, "|");
        labels_words(&recording, code, &out);
        bytes_put_text(&out, "|");
        labels_module(&recording, code, &out);
        char expected[200];
        int size = snprintf(expected, sizeof expected, "%s|%s|%s", cases[i].standard, cases[i].words,
                            cases[i].module);
        assert_int_equal(out.size, size);
        assert_memory_equal(out.data, expected, out.size);
        bytes_clear(&out);
    }
    recording_clear(&recording);
}

static const struct finding *find_topic(const struct findings *findings, const char *topic)
{
    for (uint32_t i = 0; i < findings->count; i++)
        if (strcmp(findings->rows[i].topic, topic) == 0)
            return &findings->rows[i];
    return NULL;
}

static void findings_name_what_dominates(void **state)
{
    (void)state;
    struct recording recording;
    struct findings findings;
    begin(&recording);
    uint32_t sleep = add_code(&recording, "<built-in method time.sleep>", "~", 0);
    put(&recording, 1, "a", 1, 1000000);
    put(&recording, 1, "ab", 1, 1000000);
    put(&recording, 1, "abc", 200000, 100000000);
    put(&recording, 1, "abd", 1, 600000000);
    uint32_t node =
        recording_add_node(&recording, &(struct node){.parent = child(&recording, 0, 1), .code = sleep});
    recording_add_calls(&recording, &(struct call_row){1, node, 10, 300000000});
    recording_add_note(&recording,
                       &(struct note){.kind = NOTE_LOSS, .count = 1234, .text = text(&recording, "calls")});
    recording.damage.truncated = true;
    assert_int_equal(findings_build(&recording, NULL, &findings, &err), 0);
    const struct finding *waiting = find_topic(&findings, "waiting");
    assert_non_null(waiting);
    assert_string_equal(waiting->text, "30% of the time (300 ms) is spent waiting, not computing: all in "
                                       "time.sleep (C), called by a (x/a.py:1).");
    const struct finding *hot = &findings.rows[0];
    assert_string_equal(hot->text, "d (x/d.py:4) takes 60% of the time itself (600 ms) in one call.");
    assert_int_equal(hot->code, 4);
    const struct finding *many = find_topic(&findings, "many-calls");
    assert_non_null(many);
    assert_non_null(
        strstr(many->text, "is called 200,000 times at 500 ns each, all of them from b (x/b.py:2)"));
    assert_string_equal(find_topic(&findings, "loss")->text, "Lost: 1,234 calls.");
    assert_string_equal(findings.rows[findings.count - 1].topic, "damage");
    findings_clear(&findings);
    recording_clear(&recording);
}

static void few_samples_say_nothing_about_functions(void **state)
{
    (void)state;
    for (uint32_t count = 7; count < 1000; count += 700) {
        struct recording recording;
        struct findings findings;
        begin(&recording);
        recording_set_meta(&recording, "rate_hz", "1000");
        recording_add_sample(&recording, &(struct sample_row){.thread = 1,
                                                              .node = child(&recording, 0, 1),
                                                              .count = count,
                                                              .weight_ns = count * 1000000u,
                                                              .state = SAMPLE_RUNNING});
        assert_int_equal(findings_build(&recording, NULL, &findings, &err), 0);
        assert_int_equal(find_topic(&findings, "few-samples") != NULL, count == 7);
        assert_int_equal(find_topic(&findings, "hot-function") != NULL, count != 7);
        findings_clear(&findings);
        recording_clear(&recording);
    }
}

static void no_sample_at_all_is_told(void **state)
{
    (void)state;
    struct recording recording;
    struct findings findings;
    begin(&recording);
    recording_set_meta(&recording, "rate_hz", "1000");
    recording_add_counter(&recording, &(struct counter){.process = 1}); /* it is not counters alone, though */
    assert_false(series_is_all(&recording));
    assert_int_equal(findings_build(&recording, NULL, &findings, &err), 0);
    assert_int_equal(findings.count, 1);
    assert_int_equal(strncmp(findings.rows[0].text, "No sample was taken: ", 21), 0);
    findings_clear(&findings);
    recording_clear(&recording);
}

static void nothing_recorded_gives_nothing_to_say(void **state)
{
    (void)state;
    struct recording recording = {0};
    struct findings findings;
    struct tree tree;
    assert_int_equal(findings_build(&recording, NULL, &findings, &err), 0);
    assert_int_equal(findings.count, 0);
    assert_int_equal(tree_build_bottom_up(&recording, NULL, &tree, &err), 0);
    assert_int_equal(tree.count, 1);
    tree_clear(&tree);
    findings_clear(&findings);
    recording_clear(&recording);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(direct_recursion_counts_once),
        cmocka_unit_test(mutual_recursion_counts_pairs_once),
        cmocka_unit_test(selection_takes_a_thread_or_a_process),
        cmocka_unit_test(numbers_equal_cprofiles),
        cmocka_unit_test(a_million_deep_is_no_limit),
        cmocka_unit_test(children_are_hottest_first),
        cmocka_unit_test(bottom_up_follows_the_callers),
        cmocka_unit_test(flat_profiles_give_estimated_trees),
        cmocka_unit_test(modules_count_their_time_once),
        cmocka_unit_test(tables_sort_by_pstats_keys),
        cmocka_unit_test(restrictions_apply_in_order),
        cmocka_unit_test(labels_are_short_and_clear),
        cmocka_unit_test(findings_name_what_dominates),
        cmocka_unit_test(few_samples_say_nothing_about_functions),
        cmocka_unit_test(no_sample_at_all_is_told),
        cmocka_unit_test(nothing_recorded_gives_nothing_to_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
