/* pstats: .prof files in and out, by hand-made bytes: every type that a Python writes, every way to be wrong. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/functions.h"
#include "base/bytes.h"
#include "base/err.h"
#include "export/pstats_writer.h"
#include "import/formats.h"
#include "import/marshal.h"
#include "import/pstats_reader.h"
#include "store/recording.h"

/* A file under construction: type byte, then what belongs to it. */

static void put_text(struct bytes *out, char type, const char *text)
{
    size_t size = strlen(text);
    bytes_put_u8(out, (uint8_t)type);
    if ((type & 0x7f) == 'z' || (type & 0x7f) == 'Z')
        bytes_put_u8(out, (uint8_t)size);
    else
        bytes_put_u32(out, (uint32_t)size);
    bytes_put(out, text, size);
}

static void put_int(struct bytes *out, int32_t value)
{
    bytes_put_u8(out, 'i');
    bytes_put_u32(out, (uint32_t)value);
}

static void put_real(struct bytes *out, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, 8);
    bytes_put_u8(out, 'g');
    bytes_put_u64(out, bits);
}

static void put_tuple(struct bytes *out, uint8_t count)
{
    bytes_put_u8(out, ')');
    bytes_put_u8(out, count);
}

static void put_label(struct bytes *out, const char *file, int line, const char *name)
{
    put_tuple(out, 3);
    put_text(out, 'z', file);
    put_int(out, line);
    put_text(out, 'z', name);
}

/* All of a function's value but its callers. */
static void put_function(struct bytes *out, int primitive, int calls, double self, double total)
{
    put_tuple(out, 5);
    put_int(out, primitive);
    put_int(out, calls);
    put_real(out, self);
    put_real(out, total);
}

/* A main that calls f, whose callers are what `callers` holds. */
static void put_profile(struct bytes *out, const struct bytes *callers)
{
    bytes_put_u8(out, '{');
    put_label(out, "m.py", 1, "main");
    put_function(out, 1, 1, 0.5, 2.0);
    bytes_put_text(out, "{0");
    put_label(out, "f.py", 7, "f");
    put_function(out, 3, 4, 1.25e-9, 1.5);
    bytes_put(out, callers->data, callers->size);
    bytes_put_u8(out, '0');
}

static void put_callers_start(struct bytes *out)
{
    bytes_put_u8(out, '{');
    put_label(out, "m.py", 1, "main");
}

static int read_bytes(const struct bytes *file, struct recording *recording, struct err *err)
{
    return pstats_reader_read(file->data, file->size, "x.prof", recording, err);
}

static void assert_refused(const struct bytes *file, const char *reason)
{
    struct recording recording = {0};
    struct err err = {0};
    assert_int_equal(read_bytes(file, &recording, &err), -1);
    assert_non_null(strstr(err.text, "x.prof"));
    assert_non_null(strstr(err.text, reason));
    assert_int_equal(recording.codes_count, 0);
    recording_clear(&recording);
}

static void reads_counts_in_their_two_orders(void **state)
{
    (void)state;
    struct bytes callers = {0}, file = {0};
    put_callers_start(&callers);
    put_tuple(&callers, 4);
    put_int(&callers, 4); /* all calls come first here */
    put_int(&callers, 3);
    put_real(&callers, 0.25);
    put_real(&callers, 1.5);
    bytes_put_u8(&callers, '0');
    put_profile(&file, &callers);
    struct recording recording = {0};
    assert_int_equal(read_bytes(&file, &recording, NULL), 0);
    assert_int_equal(recording.functions_count, 2);
    assert_int_equal(recording.functions[1].primitive_calls, 3);
    assert_int_equal(recording.functions[1].calls, 4);
    assert_int_equal(recording.functions[1].self_ns, 1); /* 1.25 ns */
    assert_int_equal(recording.functions[1].total_ns, 1500000000);
    assert_int_equal(recording.edges_count, 1);
    assert_int_equal(recording.edges[0].calls, 4);
    assert_int_equal(recording.edges[0].primitive_calls, 3);
    assert_int_equal(recording.edges[0].self_ns, 250000000);
    assert_string_equal(recording_meta(&recording, "mode"), "pstats");
    assert_null(recording_meta(&recording, "callers"));
    recording_clear(&recording);
    bytes_clear(&callers);
    bytes_clear(&file);
}

static void sums_caller_tuples_of_several_groups(void **state)
{
    (void)state;
    struct bytes callers = {0}, file = {0};
    put_callers_start(&callers);
    put_tuple(&callers, 12);
    for (int group = 1; group <= 3; group++) {
        put_int(&callers, 10 * group);
        put_int(&callers, group);
        put_real(&callers, group * 1e-6);
        put_real(&callers, group * 1e-3);
    }
    bytes_put_u8(&callers, '0');
    put_profile(&file, &callers);
    struct recording recording = {0};
    assert_int_equal(read_bytes(&file, &recording, NULL), 0);
    assert_int_equal(recording.edges_count, 1);
    assert_int_equal(recording.edges[0].calls, 60);
    assert_int_equal(recording.edges[0].primitive_calls, 6);
    assert_int_equal(recording.edges[0].self_ns, 6000);
    assert_int_equal(recording.edges[0].total_ns, 6000000);
    recording_clear(&recording);
    bytes_clear(&callers);
    bytes_clear(&file);
}

static void reads_bare_counts_and_callers_without_entry(void **state)
{
    (void)state;
    struct bytes callers = {0}, file = {0};
    bytes_put_u8(&callers, '{');
    put_label(&callers, "~", 0, "<built-in method builtins.map>");
    put_int(&callers, 9);
    bytes_put_u8(&callers, '0');
    put_profile(&file, &callers);
    struct recording recording = {0};
    assert_int_equal(read_bytes(&file, &recording, NULL), 0);
    assert_int_equal(recording.functions_count, 2);
    assert_int_equal(recording.codes_count, 4); /* none, main, f, map */
    const struct code *map = &recording.codes[recording.edges[0].caller];
    assert_int_equal(map->kind, CODE_C);
    assert_string_equal(recording_text(&recording, map->name), "<built-in method builtins.map>");
    assert_int_equal(recording.codes[recording.edges[0].callee].kind, CODE_PYTHON);
    assert_int_equal(recording.edges[0].calls, 9);
    assert_int_equal(recording.edges[0].primitive_calls, 9);
    assert_string_equal(recording_meta(&recording, "callers"), "counts");
    recording_clear(&recording);
    bytes_clear(&callers);
    bytes_clear(&file);
}

static void reads_the_mark_of_sampled_files(void **state)
{
    (void)state;
    struct bytes file = {0};
    bytes_put_u8(&file, '{');
    put_tuple(&file, 1);
    put_text(&file, 'z', "__sampled__");
    bytes_put_text(&file, "T0");
    assert_true(pstats_reader_recognises(file.data, file.size));
    struct recording recording = {0};
    assert_int_equal(read_bytes(&file, &recording, NULL), 0);
    assert_int_equal(recording.functions_count, 0);
    assert_string_equal(recording_meta(&recording, "sampled"), "yes");
    recording_clear(&recording);
    bytes_clear(&file);
}

/* Python 2: four-byte tuples, interned bytes named again by 'R', text floats, 64-bit and long integers. */
static void reads_the_types_of_python_2(void **state)
{
    (void)state;
    struct bytes file = {0};
    bytes_put_text(&file, "{(");
    bytes_put_u32(&file, 3);
    put_text(&file, 't', "caf\xe9.py"); /* Latin-1 stays as it is */
    put_int(&file, 3);
    put_text(&file, 's', "f");
    bytes_put_u8(&file, '(');
    bytes_put_u32(&file, 5);
    bytes_put_u8(&file, 'I');
    bytes_put_u64(&file, (uint64_t)1 << 40);
    bytes_put_u8(&file, 'l'); /* 2**45 + 5 */
    bytes_put_u32(&file, 4);
    bytes_put_u16(&file, 5);
    bytes_put_u16(&file, 0);
    bytes_put_u16(&file, 0);
    bytes_put_u16(&file, 1);
    bytes_put(&file,
              "f\x04"
              "2e-3",
              6);
    bytes_put(&file,
              "f\x03"
              "0.5",
              5);
    bytes_put_text(&file, "{(");
    bytes_put_u32(&file, 3);
    bytes_put_u8(&file, 'R');
    bytes_put_u32(&file, 0);
    put_int(&file, 3);
    put_text(&file, 'u', "f");
    put_int(&file, 1);
    bytes_put_text(&file, "00");
    struct recording recording = {0};
    struct err err = {0};
    assert_int_equal(read_bytes(&file, &recording, &err), 0);
    assert_int_equal(recording.codes_count, 2); /* bytes and text that are equal are one name */
    assert_string_equal(recording_text(&recording, recording.codes[1].file), "caf\xe9.py");
    assert_true(recording.functions[0].primitive_calls == (uint64_t)1 << 40);
    assert_true(recording.functions[0].calls == ((uint64_t)1 << 45) + 5);
    assert_int_equal(recording.functions[0].self_ns, 2000000);
    assert_int_equal(recording.functions[0].total_ns, 500000000);
    assert_int_equal(recording.edges[0].caller, 1);
    assert_int_equal(recording.edges[0].callee, 1);
    recording_clear(&recording);
    bytes_clear(&file);
}

static void looks_through_references(void **state)
{
    (void)state;
    struct bytes file = {0};
    bytes_put_u8(&file, '{' | 0x80);             /* reference 0 */
    bytes_put(&file, "\xa9\x03", 2);             /* 1: the label */
    put_text(&file, (char)('z' | 0x80), "a.py"); /* 2 */
    put_int(&file, 1);
    bytes_put(&file, "r\x02\0\0\0", 5); /* named like its file */
    put_function(&file, 1, 1, 0, 1);
    bytes_put(&file, "{r\x01\0\0\0", 6); /* it calls itself */
    put_int(&file, 2);
    bytes_put_text(&file, "00");
    struct recording recording = {0};
    struct err err = {0};
    assert_int_equal(read_bytes(&file, &recording, &err), 0);
    assert_int_equal(recording.codes[1].file, recording.codes[1].name);
    assert_int_equal(recording.edges[0].caller, recording.edges[0].callee);
    recording_clear(&recording);
    bytes_clear(&file);
}

static void odd_times_and_lines_are_clamped(void **state)
{
    (void)state;
    const double odd[] = {-1e-6, NAN, -INFINITY, INFINITY, 1e300};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        struct bytes file = {0};
        bytes_put_u8(&file, '{');
        put_label(&file, "a.py", -5, "f");
        put_function(&file, -1, 1, odd[i], 0);
        bytes_put_text(&file, "{00");
        struct recording recording = {0};
        assert_int_equal(read_bytes(&file, &recording, NULL), 0);
        assert_int_equal(recording.codes[1].line, 0);
        assert_int_equal(recording.functions[0].primitive_calls, 0);
        assert_true(recording.functions[0].self_ns == (i < 3 ? 0 : INT64_MAX));
        recording_clear(&recording);
        bytes_clear(&file);
    }
}

static void refuses_what_is_no_profile(void **state)
{
    (void)state;
    struct bytes callers = {0}, file = {0};
    put_callers_start(&callers);
    put_tuple(&callers, 3);
    for (int i = 0; i < 3; i++)
        put_int(&callers, i);
    bytes_put_u8(&callers, '0');
    put_profile(&file, &callers);
    assert_refused(&file, "four numbers");
    bytes_reset(&file);
    put_int(&file, 1);
    assert_refused(&file, "not a dict");
    bytes_reset(&file);
    bytes_put_text(&file, "{");
    put_label(&file, "a", 1, "b");
    bytes_put_text(&file, "N0");
    assert_refused(&file, "five values");
    bytes_reset(&file);
    bytes_put_text(&file, "{0");
    file.data[1] = '{';
    assert_refused(&file, "cut off");
    bytes_clear(&callers);
    bytes_clear(&file);
}

/* Each entry names the one callers dict of the first: edges would grow with the square of the file. */
static void refuses_callers_that_multiply(void **state)
{
    (void)state;
    enum { WIDE = 400 };
    struct bytes file = {0};
    char name[16];
    bytes_put_u8(&file, '{');
    for (int i = 0; i < WIDE; i++) {
        snprintf(name, sizeof name, "f%d", i);
        put_label(&file, "a", 1, name);
        put_function(&file, 1, 1, 0, 0);
        if (i) {
            bytes_put(&file, "r\0\0\0\0", 5);
            continue;
        }
        bytes_put_u8(&file, '{' | 0x80);
        for (int caller = 0; caller < WIDE; caller++) {
            snprintf(name, sizeof name, "c%d", caller);
            put_label(&file, "a", 1, name);
            put_int(&file, 1);
        }
        bytes_put_u8(&file, '0');
    }
    bytes_put_u8(&file, '0');
    assert_refused(&file, "more callers than bytes");
    bytes_clear(&file);
}

static void refuses_hostile_marshal(void **state)
{
    (void)state;
    struct {
        const char *data;
        size_t size;
        const char *reason;
    } cases[] = {
        {"(\xff\xff\xff\x7f", 5, "longer than the file"},
        {"s\xff\xff\xff\x7fq", 6, "longer than the file"},
        {"l\x00\x00\x00\x80", 5, "cut off"},
        {"r\x00\x00\x00\x00", 5, "not there"},
        {"R\x00\x00\x00\x00", 5, "not there"},
        {"\xa9\x01r\x00\x00\x00\x00", 7, "contains itself"},
        {"0", 1, "missing"},
        {"{i\1\0\0\0"
         "0",
         7, "missing"},
        {"f\x02zz", 4, "malformed"},
        {"c\0\0\0\0", 5, "unknown Python"},
        {"\x07", 1, "kind of value"},
        {"", 0, "cut off"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct marshal_document document = {0};
        struct err err = {0};
        assert_int_equal(marshal_parse(cases[i].data, cases[i].size, &document, &err), -1);
        assert_non_null(strstr(err.text, cases[i].reason));
        marshal_clear(&document);
    }
    char deep[4096];
    for (size_t i = 0; i < sizeof deep; i += 2)
        memcpy(deep + i, ")\x01", 2);
    struct marshal_document document = {0};
    struct err err = {0};
    assert_int_equal(marshal_parse(deep, sizeof deep, &document, &err), -1);
    assert_non_null(strstr(err.text, "deeply"));
    marshal_clear(&document);
}

static void recognises_by_content(void **state)
{
    (void)state;
    assert_true(pstats_reader_recognises("{0", 2));
    assert_false(pstats_reader_recognises("{0}", 3));
    assert_true(pstats_reader_recognises("{(\3\0\0\0s\1\0\0\0a", 12));
    assert_true(pstats_reader_recognises("\xfb\xa9\3\xda\1a", 6));
    assert_false(pstats_reader_recognises("{(\2\0\0\0s\1\0\0\0a", 12));
    assert_false(pstats_reader_recognises("{(\3\0\0\0i\1\0\0\0", 11));
    assert_false(pstats_reader_recognises("{\"a\": 1}", 8));
    assert_false(pstats_reader_recognises("{", 1));
    assert_false(pstats_reader_recognises("", 0));
    struct recording recording = {0};
    struct err err = {0};
    assert_int_equal(formats_read("\x7f"
                                  "ELF....",
                                  8, "a.out", &recording, &err),
                     -1);
    assert_non_null(strstr(err.text, "a.out"));
    assert_non_null(strstr(err.text, "cProfile"));
}

/* A file cut anywhere is refused, never half read, and never crashes. */
static void refuses_every_cut(void **state)
{
    (void)state;
    struct bytes callers = {0}, file = {0};
    put_callers_start(&callers);
    put_int(&callers, 1);
    bytes_put_u8(&callers, '0');
    put_profile(&file, &callers);
    for (size_t size = 0; size < file.size; size++) {
        uint8_t *exact = malloc(size + 1); /* so that a sanitizer sees a read past the end */
        memcpy(exact, file.data, size);
        struct recording recording = {0};
        assert_int_equal(pstats_reader_read(exact, size, "cut", &recording, NULL), -1);
        free(exact);
    }
    bytes_clear(&callers);
    bytes_clear(&file);
}

static uint32_t add_code(struct recording *recording, const char *file, uint32_t line, const char *name)
{
    struct code code = {.name = strings_intern_text(&recording->strings, name),
                        .file = strings_intern_text(&recording->strings, file),
                        .line = line,
                        .kind = CODE_PYTHON};
    return recording_add_code(recording, &code);
}

static void write_and_read(const struct recording *recording, struct recording *again)
{
    struct functions functions;
    struct bytes file = {0};
    struct err err = {0};
    assert_int_equal(functions_build(recording, &(struct selection){0}, &functions, &err), 0);
    assert_int_equal(pstats_writer_write(recording, &functions, &file, &err), 0);
    assert_true(pstats_reader_recognises(file.data, file.size));
    assert_int_equal(read_bytes(&file, again, &err), 0);
    functions_clear(&functions);
    bytes_clear(&file);
}

static void writes_equal_labels_as_one_entry(void **state)
{
    (void)state;
    struct recording recording = {0}, again = {0};
    recording_init(&recording, NULL);
    uint32_t main = add_code(&recording, "m.py", 1, "main");
    uint32_t first = add_code(&recording, "m.py", 2, "<lambda>");
    uint32_t second = add_code(&recording, "m.py", 2, "<lambda>");
    recording_add_function(&recording, &(struct flat_function){main, 1, 1, 5, 100});
    recording_add_function(&recording, &(struct flat_function){first, 3, 2, 10, 20});
    recording_add_function(&recording, &(struct flat_function){second, (uint64_t)1 << 50, 5, 30, 40});
    recording_add_edge(&recording, &(struct flat_edge){main, first, 3, 2, 10, 20});
    recording_add_edge(&recording, &(struct flat_edge){main, second, 7, 5, 30, 40});
    recording_add_edge(&recording, &(struct flat_edge){first, second, 1, 1, 2, 3});
    write_and_read(&recording, &again);
    assert_int_equal(again.functions_count, 2);
    assert_true(again.functions[1].calls == ((uint64_t)1 << 50) + 3);
    assert_int_equal(again.functions[1].primitive_calls, 7);
    assert_int_equal(again.functions[1].self_ns, 40);
    assert_int_equal(again.functions[1].total_ns, 60);
    assert_int_equal(again.edges_count, 2);
    assert_int_equal(again.edges[0].calls, 10);
    assert_int_equal(again.edges[0].primitive_calls, 7);
    assert_int_equal(again.edges[1].caller, again.edges[1].callee);
    recording_clear(&recording);
    recording_clear(&again);
}

static void writes_names_that_are_no_text(void **state)
{
    (void)state;
    const struct {
        const char *in, *out;
    } names[] = {
        {"plain", "plain"},
        {"na\xc3\xafve \xe2\x82\xac \xf0\x9f\x90\x8d", "na\xc3\xafve \xe2\x82\xac \xf0\x9f\x90\x8d"},
        {"lone \xed\xb2\x80", "lone \xed\xb2\x80"}, /* a surrogate, as Python marshals it */
        {"latin \xe9", "latin \xed\xb3\xa9"},       /* becomes U+DCE9, as os.fsdecode does */
        {"cut \xe2\x82", "cut \xed\xb3\xa2\xed\xb2\x82"},
        {"\xc0\x80\xf5", "\xed\xb3\x80\xed\xb2\x80\xed\xb3\xb5"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct recording recording = {0}, again = {0};
        recording_init(&recording, NULL);
        uint32_t code = add_code(&recording, "a.py", 1, names[i].in);
        recording_add_function(&recording, &(struct flat_function){code, 1, 1, 1, 1});
        write_and_read(&recording, &again);
        assert_string_equal(recording_text(&again, again.codes[1].name), names[i].out);
        recording_clear(&recording);
        recording_clear(&again);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_counts_in_their_two_orders),
        cmocka_unit_test(sums_caller_tuples_of_several_groups),
        cmocka_unit_test(reads_bare_counts_and_callers_without_entry),
        cmocka_unit_test(reads_the_mark_of_sampled_files),
        cmocka_unit_test(reads_the_types_of_python_2),
        cmocka_unit_test(looks_through_references),
        cmocka_unit_test(odd_times_and_lines_are_clamped),
        cmocka_unit_test(refuses_what_is_no_profile),
        cmocka_unit_test(refuses_callers_that_multiply),
        cmocka_unit_test(refuses_hostile_marshal),
        cmocka_unit_test(recognises_by_content),
        cmocka_unit_test(refuses_every_cut),
        cmocka_unit_test(writes_equal_labels_as_one_entry),
        cmocka_unit_test(writes_names_that_are_no_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
