#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "cli/options.h"
#include "cli/suggest.h"

struct values {
    bool tree;
    bool c_calls;
    int loud;
    const char *output;
    const char *sort;
    struct option_list exclude;
    int64_t depth;
    int64_t max_size;
    double fraction;
    const char *live;
    const char *module;
};

static const char *const sort_keys[] = {"calls", "cumulative", "time", NULL};

static const struct option options[] = {
    {"Choosing", 0, OPTION_HEADING},
    {"tree", 't', OPTION_FLAG, NULL, offsetof(struct values, tree), NULL, "A tree."},
    {"c-calls", 0, OPTION_FLAG, NULL, offsetof(struct values, c_calls), NULL, "No C."},
    {"loud", 'l', OPTION_COUNT, NULL, offsetof(struct values, loud), NULL, "Louder."},
    {"output", 'o', OPTION_TEXT, "FILE", offsetof(struct values, output), NULL, "Where."},
    {"sort", 's', OPTION_CHOICE, "KEY", offsetof(struct values, sort), sort_keys, "Order."},
    {"exclude", 'x', OPTION_LIST, "REGEX", offsetof(struct values, exclude), NULL, "Without."},
    {"depth", 'd', OPTION_NUMBER, "N", offsetof(struct values, depth), NULL, "Deep."},
    {"max-size", 0, OPTION_SIZE, "SIZE", offsetof(struct values, max_size), NULL, "Large."},
    {"fraction", 0, OPTION_REAL, "F", offsetof(struct values, fraction), NULL, "Part."},
    {"live", 0, OPTION_OPEN, "PORT", offsetof(struct values, live), NULL, "Served."},
    {"module", 'm', OPTION_TARGET, "MODULE", offsetof(struct values, module), NULL, "Module."},
    {NULL},
};

static const struct values defaults = {.c_calls = true, .sort = "time", .depth = 10};

static const struct command look = {
    .name = "look", .options = options, .defaults = &defaults, .values_size = sizeof(struct values)};
static const struct command start = {.name = "start",
                                     .options = options,
                                     .defaults = &defaults,
                                     .values_size = sizeof(struct values),
                                     .has_target = true};

const struct command *const sonde_commands[] = {&look, &start, NULL};

/* One parsed line; the words are given as one string, separated by single spaces. */
struct parsed {
    char text[512];
    char *words[64];
    int argc;
    char **argv;
    struct values values;
    struct err err;
    int result;
};

static void parse(struct parsed *parsed, const struct command *command, const char *line)
{
    memset(parsed, 0, sizeof *parsed);
    options_common = (struct options_common){.color = "auto"};
    strcpy(parsed->text, line);
    for (char *word = strtok(parsed->text, " "); word; word = strtok(NULL, " "))
        parsed->words[parsed->argc++] = word;
    parsed->argv = parsed->words;
    parsed->result = options_parse(command, &parsed->values, &parsed->argc, &parsed->argv, &parsed->err);
}

static void done(struct parsed *parsed)
{
    options_clear(&look, &parsed->values);
}

static void assert_mistake(const char *line, const char *message)
{
    struct parsed parsed;
    parse(&parsed, &look, line);
    assert_int_equal(parsed.result, -1);
    assert_string_equal(parsed.err.text, message);
    done(&parsed);
}

static void test_a_value_that_need_not_be(void **state)
{
    (void)state;
    static const struct {
        const char *line, *value;
        int left;
    } cases[] = {{"x", NULL, 1},
                 {"--live x", "", 1},
                 {"--live=80 x", "80", 1},
                 {"--live=true", "", 0},
                 {"--live=9 --live=no", NULL, 0},
                 {"--live --tree", "", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct parsed p;
        parse(&p, &look, cases[i].line);
        assert_int_equal(p.result, 0);
        assert_int_equal(p.argc, cases[i].left);
        if (cases[i].value)
            assert_string_equal(p.values.live, cases[i].value);
        else
            assert_null(p.values.live);
        done(&p);
    }
}

static void test_values_of_every_kind(void **state)
{
    (void)state;
    struct parsed p;
    parse(&p, &look,
          "--tree --no-c-calls -ll -o out --sort=calls -x a --exclude b -d5 --max-size 64k --fraction .5");
    assert_int_equal(p.result, 0);
    assert_true(p.values.tree);
    assert_false(p.values.c_calls);
    assert_int_equal(p.values.loud, 2);
    assert_string_equal(p.values.output, "out");
    assert_string_equal(p.values.sort, "calls");
    assert_int_equal(p.values.exclude.count, 2);
    assert_string_equal(p.values.exclude.items[1], "b");
    assert_int_equal(p.values.depth, 5);
    assert_int_equal(p.values.max_size, 65536);
    assert_true(p.values.fraction == 0.5);
    done(&p);
}

static void test_defaults_stay(void **state)
{
    (void)state;
    struct parsed p;
    parse(&p, &look, "");
    assert_int_equal(p.result, 0);
    assert_true(p.values.c_calls);
    assert_string_equal(p.values.sort, "time");
    assert_int_equal(p.values.depth, 10);
    done(&p);
}

static void test_the_last_wins(void **state)
{
    (void)state;
    struct parsed p;
    parse(&p, &look, "--tree --no-tree -d 1 -d 2 --c-calls=false --quiet --color never");
    assert_int_equal(p.result, 0);
    assert_false(p.values.tree);
    assert_false(p.values.c_calls);
    assert_int_equal(p.values.depth, 2);
    assert_true(options_common.quiet);
    assert_string_equal(options_common.color, "never");
    done(&p);
}

static void test_letters_cluster(void **state)
{
    (void)state;
    struct parsed p;
    parse(&p, &look, "-tlofile -o=other");
    assert_int_equal(p.result, 0);
    assert_true(p.values.tree);
    assert_int_equal(p.values.loud, 1);
    assert_string_equal(p.values.output, "other");
    done(&p);
}

static void test_abbreviations(void **state)
{
    (void)state;
    struct parsed p;
    parse(&p, &look, "--tr --exc a --no-c --max=1G --dep 3");
    assert_int_equal(p.result, 0);
    assert_true(p.values.tree);
    assert_false(p.values.c_calls);
    assert_int_equal(p.values.max_size, (int64_t)1 << 30);
    assert_int_equal(p.values.depth, 3);
    done(&p);
    assert_mistake("--c", "option '--c' is ambiguous: it could be --c-calls, --color");
    assert_mistake("--o", "--output needs a value: --output FILE");
}

static void test_words_keep_their_order(void **state)
{
    (void)state;
    struct parsed p;
    parse(&p, &look, "a -t b --output x - -- -t c");
    assert_int_equal(p.result, 0);
    assert_int_equal(p.argc, 5);
    static const char *const expected[] = {"a", "b", "-", "-t", "c"};
    for (int index = 0; index < p.argc; index++)
        assert_string_equal(p.argv[index], expected[index]);
    done(&p);
}

static void test_a_target_keeps_its_words(void **state)
{
    (void)state;
    struct parsed p;
    parse(&p, &start, "-t x.py -t --unknown -- y");
    assert_int_equal(p.result, 0);
    assert_int_equal(p.argc, 5);
    assert_string_equal(p.argv[0], "x.py");
    assert_string_equal(p.argv[3], "--");
    done(&p);
    parse(&p, &start, "-t -m pkg.mod -t --help");
    assert_int_equal(p.result, 0);
    assert_string_equal(p.values.module, "pkg.mod");
    assert_int_equal(p.argc, 2);
    assert_string_equal(p.argv[0], "-t");
    done(&p);
    parse(&p, &start, "-tmpkg x");
    assert_string_equal(p.values.module, "pkg");
    assert_int_equal(p.argc, 1);
    done(&p);
    parse(&p, &start, "--tree -- python -t");
    assert_int_equal(p.argc, 3);
    assert_string_equal(p.argv[0], "--");
    done(&p);
}

static void test_help_comes_before_mistakes(void **state)
{
    (void)state;
    struct parsed p;
    parse(&p, &look, "-t -h --wrong");
    assert_int_equal(p.result, 1);
    done(&p);
    parse(&p, &start, "x.py --help");
    assert_int_equal(p.result, 0);
    assert_int_equal(p.argc, 2);
    done(&p);
}

static void test_sizes(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        int64_t bytes;
    } rows[] = {{"--max-size 0", 0},          {"--max-size 123", 123},        {"--max-size 1.5k", 1536},
                {"--max-size 10M", 10 << 20}, {"--max-size 2GiB", 2ll << 30}, {"--max-size 7B", 7}};
    for (size_t index = 0; index < sizeof rows / sizeof *rows; index++) {
        struct parsed p;
        parse(&p, &look, rows[index].line);
        assert_int_equal(p.result, 0);
        assert_true(p.values.max_size == rows[index].bytes);
        done(&p);
    }
    assert_mistake("--max-size 5x", "--max-size needs a size such as 64k, 10M or 2G, not '5x'");
    assert_mistake("--max-size=-1", "--max-size needs a size such as 64k, 10M or 2G, not '-1'");
    assert_mistake("--max-size 1e30", "--max-size: 1e30 is too large");
    assert_mistake("--max-size nan", "--max-size needs a size such as 64k, 10M or 2G, not 'nan'");
}

static void test_hexadecimal_numbers(void **state)
{
    (void)state;
    struct parsed p;
    parse(&p, &look, "-d 0x1F");
    assert_int_equal(p.result, 0);
    assert_int_equal(p.values.depth, 31);
    done(&p);
    assert_mistake("-d 1F", "--depth needs a whole number, not '1F'");
    assert_mistake("-d 0x", "--depth needs a whole number, not '0x'");
}

static void test_mistakes_name_the_remedy(void **state)
{
    (void)state;
    assert_mistake("--exlcude a", "unknown option '--exlcude'; did you mean '--exclude'?");
    assert_mistake("--nothing-like-it", "unknown option '--nothing-like-it'");
    assert_mistake("-tZ", "unknown option '-Z'");
    assert_mistake("-o", "--output needs a value: --output FILE");
    assert_mistake("--output --tree",
                   "--output needs a value before '--tree'; write --output=--tree if that is the FILE");
    assert_mistake("-d ten", "--depth needs a whole number, not 'ten'");
    assert_mistake("-d 99999999999999999999", "--depth: 99999999999999999999 is too large");
    assert_mistake("--fraction inf", "--fraction needs a number, not 'inf'");
    assert_mistake("--sort tmie", "--sort: unknown choice 'tmie'; did you mean 'time'? (one of: calls, "
                                  "cumulative, time)");
    assert_mistake("--sort qqqqqq", "--sort: unknown choice 'qqqqqq'; it is one of: calls, cumulative, time");
    assert_mistake("--tree=maybe", "--tree takes no value (or true or false), not 'maybe'");
    assert_mistake("--loud=3", "--loud takes no value");
    assert_mistake("--Choosing", "unknown option '--Choosing'");
}

static void test_distance(void **state)
{
    (void)state;
    assert_int_equal(suggest_distance("trace", "trace"), 0);
    assert_int_equal(suggest_distance("", "abc"), 3);
    assert_int_equal(suggest_distance("trcae", "trace"), 1);
    assert_int_equal(suggest_distance("kitten", "sitting"), 3);
    char long_word[100];
    memset(long_word, 'a', 99);
    long_word[99] = '\0';
    assert_true(suggest_distance(long_word, "a") > 1000);
}

static void test_a_later_source_replaces_a_list(void **state)
{
    (void)state;
    struct values values = defaults;
    struct err err = {0};
    struct options_pass weak = {.command = &look, .values = &values};
    struct options_pass strong = {.command = &look, .values = &values};
    assert_int_equal(options_set(&weak, "exclude", "a", &err), 0);
    assert_int_equal(options_set(&weak, "exclude", "b", &err), 0);
    assert_int_equal(values.exclude.count, 2);
    assert_int_equal(options_set(&strong, "exclude", "c", &err), 0);
    assert_int_equal(values.exclude.count, 1);
    assert_string_equal(values.exclude.items[0], "c");
    assert_int_equal(options_set(&strong, "no-c-calls", NULL, &err), 0);
    assert_false(values.c_calls);
    assert_int_equal(options_set(&strong, "unknown", "x", &err), 1);
    options_clear(&look, &values);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_value_that_need_not_be),
        cmocka_unit_test(test_values_of_every_kind),
        cmocka_unit_test(test_defaults_stay),
        cmocka_unit_test(test_the_last_wins),
        cmocka_unit_test(test_letters_cluster),
        cmocka_unit_test(test_abbreviations),
        cmocka_unit_test(test_words_keep_their_order),
        cmocka_unit_test(test_a_target_keeps_its_words),
        cmocka_unit_test(test_help_comes_before_mistakes),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_hexadecimal_numbers),
        cmocka_unit_test(test_mistakes_name_the_remedy),
        cmocka_unit_test(test_distance),
        cmocka_unit_test(test_a_later_source_replaces_a_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
