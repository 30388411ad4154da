#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/err.h"
#include "cli/config.h"
#include "cli/options.h"
#include "cli/toml.h"

struct values {
    bool c_calls;
    int64_t depth;
    const char *output;
    const char *code;
    struct option_list exclude;
};

static const struct option options[] = {
    {"c-calls", 0, OPTION_FLAG, NULL, offsetof(struct values, c_calls), NULL, "C."},
    {"depth", 'd', OPTION_NUMBER, "N", offsetof(struct values, depth), NULL, "Deep."},
    {"output", 'o', OPTION_TEXT, "FILE", offsetof(struct values, output), NULL, "Where."},
    {"code", 'c', OPTION_TARGET, "CODE", offsetof(struct values, code), NULL, "What."},
    {"exclude", 'x', OPTION_LIST, "REGEX", offsetof(struct values, exclude), NULL, "Without."},
    {NULL},
};
static const struct option report_options[] = {
    {"limit", 0, OPTION_NUMBER, "N", 0, NULL, "Rows."},
    {NULL},
};
static const struct values defaults = {.c_calls = true, .depth = 1};
static const struct command trace = {
    .name = "trace", .options = options, .defaults = &defaults, .values_size = sizeof(struct values)};
static const struct command report = {
    .name = "report", .options = report_options, .values_size = sizeof(int64_t)};

const struct command *const sonde_commands[] = {&trace, &report, NULL};

/* TOML: every item as a line "line path kind values". */

static int note_item(void *context, const struct toml_item *item, struct err *err)
{
    (void)err;
    struct bytes *out = context;
    bytes_putf(out, "%u ", item->line);
    for (size_t index = 0; index < item->depth; index++)
        bytes_putf(out, "%s%s", index ? "." : "", item->path[index]);
    bytes_putf(out, " %c", "sbnao"[item->kind]);
    for (size_t index = 0; index < item->count; index++)
        bytes_putf(out, " <%s>", item->values[index]);
    bytes_put_u8(out, '\n');
    return 0;
}

static void assert_toml(const char *text, const char *expected)
{
    struct bytes out = {0};
    struct err err = {0};
    int result = toml_read(text, strlen(text), "f", note_item, &out, &err);
    bytes_put_u8(&out, 0);
    assert_string_equal(result == 0 ? (const char *)out.data : err.text, expected);
    bytes_clear(&out);
}

static void test_toml_values(void **state)
{
    (void)state;
    assert_toml("", "");
    assert_toml("\xef\xbb\xbf# only a comment", "");
    assert_toml("a = 'x'\r\nb = \"y\\t\\u00e9\\\\\" # c\n", "1 a s <x>\n2 b s <y\t\xc3\xa9\\>\n");
    assert_toml("[t]\na.b = 1_000\n'q r'=-2.5\n", "2 t.a.b n <1000>\n3 t.q r n <-2.5>\n");
    assert_toml("x=true\ny = [ 'a', # c\n \"b\",\n]\nz=[]\n", "1 x b <true>\n2 y a <a> <b>\n5 z a\n");
    assert_toml("a='''\none\n'two' '''\nb=1", "1 a s <one\n'two' >\n4 b n <1>\n");
    assert_toml("a=\"\"\"x\\\n   y\"\"\"\n", "1 a s <xy>\n");
}

static void test_toml_steps_over_what_others_write(void **state)
{
    (void)state;
    assert_toml("d=1979-05-27 07:32:00Z\nt=07:32:00\ne=1979-05-27T00:32:00.9-07:00\nb=1\n",
                "1 d o\n2 t o\n3 e o\n4 b n <1>\n");
    assert_toml("[[a.b]]\nc = {d = 1, e = {f = []}}\n[x]\ng=[[1],[2]]\n", "2 a.b.c o\n4 x.g o\n");
    assert_toml("a.b.c.d.e.f.g.h.i = 1\nj=2\n", "2 j n <2>\n");
}

static void test_toml_mistakes_name_the_line(void **state)
{
    (void)state;
    assert_toml("\n\na = \"x\n", "f:3: a string does not end; it needs a closing \"");
    assert_toml("a = '''x\n\n", "f:1: a string does not end; it needs a closing '''");
    assert_toml("a 1", "f:1: '=' is expected after a key");
    assert_toml("= 1", "f:1: a key or a [table] is expected here");
    assert_toml("a =\n", "f:1: a value is expected here");
    assert_toml("a = yes\n", "f:1: 'yes' is no value; a string needs quotes");
    assert_toml("a = 1 2\n", "f:1: the line goes on after its value; a string needs quotes");
    assert_toml("a = [1\n\n", "f:1: an array does not end; it needs a closing ]");
    assert_toml("a = [1 2]", "f:1: ',' or ']' is expected in an array");
    assert_toml("[a\n", "f:1: a table's name does not end with ']'");
    assert_toml("a = \"\\q\"",
                "f:1: unknown escape in a string; in 'single quotes' a backslash is only itself");
    assert_toml("a = \"\\ud800\"", "f:1: an escape names no character");
    assert_toml("a = {b", "f:1: '=' is expected after a key");
}

static void test_toml_nesting_is_bounded(void **state)
{
    (void)state;
    char text[2000] = "a = ";
    memset(text + 4, '[', 1000);
    assert_toml(text, "f:1: values are nested more than 64 deep");
}

/* Every beginning of a text, and every byte of it replaced, is read without harm (sanitizers look on). */
static void test_toml_survives_damage(void **state)
{
    (void)state;
    static const char text[] = "[tool.'s']\na = [\"x\\u0041\", '''y''', 1.5]\nb = {c = 2020-01-01}\n";
    static const char bytes[] = "\"'[]{}=,.\\#\n\0\x80";
    for (size_t at = 0; at < sizeof text; at++) {
        for (size_t byte = 0; byte < sizeof bytes; byte++) {
            char damaged[sizeof text];
            memcpy(damaged, text, sizeof text);
            damaged[at] = bytes[byte];
            struct bytes out = {0};
            struct err err = {0};
            char *exact = malloc(sizeof text); /* no byte beyond, so that a reader that goes on is seen */
            memcpy(exact, damaged, sizeof text);
            int whole = toml_read(exact, sizeof text - 1, "f", note_item, &out, &err);
            assert_true(whole == 0 || err.text[0]);
            free(exact);
            bytes_clear(&out);
        }
        struct bytes out = {0};
        struct err err = {0};
        int cut = toml_read(text, at, "f", note_item, &out, &err);
        assert_true(cut == 0 || err.text[0]);
        bytes_clear(&out);
    }
}

/* Sources. */

struct applied {
    struct config config;
    struct values values;
    struct err err;
    int result;
};

static char folder[] = "/tmp/sonde-config-XXXXXX";

static void write_file(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void apply(struct applied *applied, const char *from, const char *variable)
{
    char path[256];
    snprintf(path, sizeof path, "%s%s", folder, from);
    memset(applied, 0, sizeof *applied);
    options_defaults(&trace, &applied->values);
    applied->result = config_apply(&applied->config, &trace, &applied->values, path, variable, &applied->err);
}

static void done(struct applied *applied)
{
    options_clear(&trace, &applied->values);
    config_clear(&applied->config);
}

static void test_the_command_is_stronger_than_all(void **state)
{
    (void)state;
    struct applied a;
    write_file("pyproject.toml", "[tool.sonde.trace]\ndepth = 7\n[tool.sonde]\ndepth = 3\nc-calls = false\n"
                                 "limit = 9\nexclude = ['a', 'b']\n[tool.sonde.report]\nlimit = 1\n");
    apply(&a, "", NULL);
    assert_int_equal(a.result, 0);
    assert_int_equal(a.values.depth, 7);
    assert_false(a.values.c_calls);
    assert_int_equal(a.values.exclude.count, 2);
    done(&a);
    apply(&a, "", "--depth=8 --exclude c --c-calls --limit 4");
    assert_int_equal(a.result, 0);
    assert_int_equal(a.values.depth, 8);
    assert_true(a.values.c_calls);
    assert_int_equal(a.values.exclude.count, 1);
    assert_string_equal(a.values.exclude.items[0], "c");
    done(&a);
}

static void test_found_upward(void **state)
{
    (void)state;
    struct applied a;
    write_file("pyproject.toml", "[tool.sonde]\ndepth = 5\n");
    write_file("inner/pyproject.toml", "[project]\nname = 'x'\n");
    apply(&a, "/inner/deeper", NULL);
    assert_int_equal(a.result, 0);
    assert_int_equal(a.values.depth, 5);
    done(&a);
    write_file("inner/pyproject.toml", "[tool.sonde]\ndepth = 6\n");
    apply(&a, "/inner/deeper", NULL);
    assert_int_equal(a.values.depth, 6);
    done(&a);
    write_file("inner/pyproject.toml", "");
}

static void assert_file_mistake(const char *text, const char *message)
{
    struct applied a;
    char expected[512];
    write_file("pyproject.toml", text);
    apply(&a, "", NULL);
    assert_int_equal(a.result, -1);
    snprintf(expected, sizeof expected, "%s/pyproject.toml:%s", folder, message);
    assert_string_equal(a.err.text, expected);
    done(&a);
}

static void test_wrong_values_name_file_and_line(void **state)
{
    (void)state;
    assert_file_mistake("\n[tool.sonde]\ndepth = 'x'\n", "3: --depth needs a whole number, not 'x'");
    assert_file_mistake("[tool.sonde.trace]\ndepth = [1, 2]\n", "2: 'depth' takes one value, not an array");
    assert_file_mistake("[tool.sonde]\ndepth = {a=1}\n",
                        "2: 'depth' needs a string, a number, true, false or an array of strings");
    assert_file_mistake("[tool.sonde]\ncode = 'x'\n", "2: 'code' belongs on the command line");
    assert_file_mistake("[tool.sonde\n", "1: a table's name does not end with ']'");
}

static void assert_variable(const char *variable, const char *message)
{
    struct applied a;
    apply(&a, "/nowhere", variable);
    assert_int_equal(a.result, message ? -1 : 0);
    assert_string_equal(a.err.text, message ? message : "");
    done(&a);
}

static void test_variable(void **state)
{
    (void)state;
    struct applied a;
    apply(&a, "/nowhere", " --output 'a b'\\ \"c\\\"d\"  --no-c-calls ");
    assert_int_equal(a.result, 0);
    assert_string_equal(a.values.output, "a b c\"d");
    assert_false(a.values.c_calls);
    done(&a);
    assert_variable("", NULL);
    assert_variable("--output ''", NULL);
    assert_variable("--output 'x", "SONDE_OPTIONS: a quote (') is not closed");
    assert_variable("-d 5", "SONDE_OPTIONS: '-d' is no long option; write names in full, such as --quiet");
    assert_variable("x", "SONDE_OPTIONS: 'x' is no long option; write names in full, such as --quiet");
    assert_variable("--depth", "SONDE_OPTIONS: --depth needs a value: N");
    assert_variable("--depth x", "SONDE_OPTIONS: --depth needs a whole number, not 'x'");
    assert_variable("--code x", "SONDE_OPTIONS: 'code' belongs on the command line");
}

static int make_folder(void **state)
{
    (void)state;
    char path[256];
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/inner", folder);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/inner/deeper", folder);
    return mkdir(path, 0700);
}

static int remove_folder(void **state)
{
    (void)state;
    static const char *const names[] = {"inner/pyproject.toml", "inner/deeper", "inner", "pyproject.toml",
                                        ""};
    char path[256];
    for (size_t index = 0; index < sizeof names / sizeof *names; index++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[index]);
        remove(path);
    }
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_toml_values),
        cmocka_unit_test(test_toml_steps_over_what_others_write),
        cmocka_unit_test(test_toml_mistakes_name_the_line),
        cmocka_unit_test(test_toml_nesting_is_bounded),
        cmocka_unit_test(test_toml_survives_damage),
        cmocka_unit_test(test_the_command_is_stronger_than_all),
        cmocka_unit_test(test_found_upward),
        cmocka_unit_test(test_wrong_values_name_file_and_line),
        cmocka_unit_test(test_variable),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
