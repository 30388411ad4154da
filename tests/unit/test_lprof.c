/* lprof: .lprof files in and out, by hand-made pickles: what every release writes, every way to be wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/line_table.h"
#include "analyse/merge.h"
#include "analyse/tree.h"
#include "base/bytes.h"
#include "base/err.h"
#include "export/lprof_writer.h"
#include "import/formats.h"
#include "import/lprof_reader.h"
#include "import/pickle.h"
#include "store/recording.h"

#define NEW_CLASS "line_profiler.line_profiler"
#define OLD_CLASS "line_profiler._line_profiler"

/* Pieces of pickles. */

static void put_text(struct bytes *out, const char *text)
{
    bytes_put_u8(out, 'X');
    bytes_put_u32(out, (uint32_t)strlen(text));
    bytes_put_text(out, text);
}

static void put_int(struct bytes *out, int32_t value)
{
    bytes_put_u8(out, 'J');
    bytes_put_u32(out, (uint32_t)value);
}

static void put_real(struct bytes *out, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, 8);
    bytes_put_u8(out, 'G');
    bytes_put_u64(out, __builtin_bswap64(bits));
}

static void put_row(struct bytes *out, int line, int hits, int ticks)
{
    put_int(out, line);
    put_int(out, hits);
    put_int(out, ticks);
    bytes_put_u8(out, 0x87);
}

static void put_label(struct bytes *out, const char *file, int line, const char *name)
{
    put_text(out, file);
    put_int(out, line);
    put_text(out, name);
    bytes_put_u8(out, 0x87);
}

/* Up to the timings' items, as protocol 2 has it. */
static void put_begin(struct bytes *out, const char *module)
{
    bytes_putf(out,
               "\x80\x02"
               "c%s\nLineStats\n)\x81}(",
               module);
    put_text(out, "timings");
    bytes_put_text(out, "}(");
}

static void put_end(struct bytes *out, double unit)
{
    bytes_put_u8(out, 'u');
    put_text(out, "unit");
    put_real(out, unit);
    bytes_put_text(out, "ub.");
}

static void put_file(struct bytes *out, const char *module, double unit)
{
    put_begin(out, module);
    put_label(out, "a.py", 3, "Grid.step");
    bytes_put_text(out, "](");
    put_row(out, 4, 1, 1500);
    put_row(out, 6, 70000, 2000000000);
    bytes_put_u8(out, 'e');
    put_label(out, "a.py", 9, "never");
    bytes_put_u8(out, ']');
    put_end(out, unit);
}

static int read_bytes(const struct bytes *file, struct recording *recording, struct err *err)
{
    return lprof_reader_read(file->data, file->size, "x.lprof", recording, err);
}

static void assert_refused(const struct bytes *file, const char *reason)
{
    struct recording recording = {0};
    struct err err = {0};
    assert_int_equal(read_bytes(file, &recording, &err), -1);
    assert_non_null(strstr(err.text, "x.lprof"));
    assert_non_null(strstr(err.text, reason));
    assert_int_equal(recording.codes_count, 0);
    recording_clear(&recording);
}

static void reads_every_release(void **state)
{
    static const char *const classes[] = {NEW_CLASS, OLD_CLASS, "_line_profiler"};
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct bytes file = {0};
        struct recording recording = {0};
        put_file(&file, classes[i], 1e-9);
        assert_string_equal(formats_find(file.data, file.size)->name, "lprof");
        assert_int_equal(formats_read(file.data, file.size, "x", &recording, NULL), 0);
        assert_int_equal(recording.codes_count, 3);
        const struct code *code = &recording.codes[1];
        assert_string_equal(recording_text(&recording, code->name), "step");
        assert_string_equal(recording_text(&recording, code->qualname), "Grid.step");
        assert_string_equal(recording_text(&recording, code->file), "a.py");
        assert_int_equal(code->line, 3);
        assert_int_equal(recording.lines_count, 3);
        assert_int_equal(recording.lines[1].line, 6);
        assert_int_equal(recording.lines[1].hits, 70000);
        assert_int_equal(recording.lines[1].total_ns, 2000000000);
        assert_int_equal(recording.lines[1].max_ns, 0);
        assert_int_equal(recording.lines[2].line, 9);
        assert_int_equal(recording.lines[2].hits, 0);
        recording_clear(&recording);
        bytes_clear(&file);
    }
}

static uint64_t ns_of(double unit)
{
    struct bytes file = {0};
    struct recording recording = {0};
    put_file(&file, NEW_CLASS, unit);
    assert_int_equal(read_bytes(&file, &recording, NULL), 0);
    uint64_t ns = recording.lines[0].total_ns;
    recording_clear(&recording);
    bytes_clear(&file);
    return ns;
}

static void minds_the_unit(void **state)
{
    (void)state;
    assert_int_equal(ns_of(1e-9), 1500);
    assert_int_equal(ns_of(1e-7), 150000);
    assert_int_equal(ns_of(1e-6), 1500000);
    assert_int_equal(ns_of(1.0 / 3e9), 500);
}

/* Numbers of more than four bytes, real ones, and negative times as clocks that were set back leave. */
static void reads_all_kinds_of_numbers(void **state)
{
    (void)state;
    struct bytes file = {0};
    struct recording recording = {0};
    put_begin(&file, NEW_CLASS);
    put_label(&file, "a.py", 1, "f");
    bytes_put_text(&file, "](");
    bytes_put(&file, "K\x02\x8a\x05\x00\x00\x00\x00\x01M\x10\x27\x87", 13); /* 2, 2**32, 10000 */
    put_int(&file, 300);
    put_int(&file, 1);
    put_real(&file, 2.6);
    bytes_put_u8(&file, 0x87);
    put_row(&file, 301, 1, -7);
    put_int(&file, 302);
    bytes_put(&file, "K\x01\x8a\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00\x87", 15);
    bytes_put_u8(&file, 'e');
    put_end(&file, 1e-9);
    assert_int_equal(read_bytes(&file, &recording, NULL), 0);
    assert_int_equal(recording.lines_count, 4);
    assert_int_equal(recording.lines[0].hits, INT64_C(1) << 32);
    assert_int_equal(recording.lines[0].total_ns, 10000);
    assert_int_equal(recording.lines[1].total_ns, 3);
    assert_int_equal(recording.lines[2].total_ns, 0);
    assert_int_equal(recording.lines[3].total_ns, INT64_MAX);
    recording_clear(&recording);
    bytes_clear(&file);
}

/* A text that stands for bytes: no zero among them. */
struct refusal {
    const char *bytes, *reason;
};

static void assert_all_refused(const struct refusal *refusals, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct bytes file = {0};
        bytes_put_text(&file, refusals[i].bytes);
        assert_refused(&file, refusals[i].reason);
        bytes_clear(&file);
    }
}

static void runs_nothing(void **state)
{
    static const struct refusal refusals[] = {
        {"\x80\x04\x8c\x05posix\x8c\x06system\x93\x8c\x04"
         "true\x85R.",
         "something else than"},
        {"\x80\x02"
         "cos\nsystem\nX\x04",
         "longer than the file"},
        {"\x80\x02"
         "(S'true'\nios\nsystem\n.",
         "do not do"},
        {"\x80\x02K\x01K\x02R.", "no class"},
        {"\x80\x02Pabc\n.", "do not do"},
        {"\x80\x02\x82\x01.", "do not do"},
    };
    (void)state;
    assert_all_refused(refusals, sizeof refusals / sizeof *refusals);
}

static void refuses_what_is_broken(void **state)
{
    static const struct refusal refusals[] = {
        {"\x80\x02.", "a value is missing"},
        {"\x80\x02K\x01"
         "0.",
         "a value is missing"},
        {"\x80\x02K\x01(0.", "something else than"},
        {"\x80\x02K\x01(a.", "a value is missing"},
        {"\x80\x02"
         "e.",
         "a mark is missing"},
        {"\x80\x02K\x01K\x02"
         "a.",
         "holds nothing of that kind"},
        {"\x80\x02}(K\x01u.", "a key has no value"},
        {"\x80\x02h\x07.", "not there"},
        {"\x80\x02K\x01K\x02"
         "b.",
         "no object"},
        {"\x80\x02K\x01K\x02\x93.", "no name"},
        {"\x80\x02\x8b\xff\xff\xff\x7f"
         "1",
         "longer than the file"},
        {"\x80\x06K\x01.", "protocol 2 to 5"},
        {"\x80\x02"
         "cline_profiler._line_profiler\nLineStats\n.",
         "something else than"},
        {"\x80\x02"
         "cline_profiler._line_profiler\nLineStats\n)\x81.",
         "its unit"},
        {"\x80\x02"
         "cline_profiler._line_profiler\nLineStats\n)\x81}b.",
         "its unit"},
    };
    (void)state;
    assert_all_refused(refusals, sizeof refusals / sizeof *refusals);
}

static void refuses_other_shapes(void **state)
{
    (void)state;
    struct bytes file = {0};
    put_begin(&file, NEW_CLASS);
    bytes_put_text(&file, "K\x01]");
    put_end(&file, 1e-9);
    assert_refused(&file, "not named by");
    bytes_reset(&file);
    put_begin(&file, NEW_CLASS);
    put_label(&file, "a.py", 1, "f");
    bytes_put_text(&file, "K\x01");
    put_end(&file, 1e-9);
    assert_refused(&file, "not a list");
    bytes_reset(&file);
    put_begin(&file, NEW_CLASS);
    put_label(&file, "a.py", 1, "f");
    bytes_put_text(&file, "]q\x01h\x01"
                          "a"); /* a list in itself */
    put_end(&file, 1e-9);
    assert_refused(&file, "not three numbers");
    bytes_reset(&file);
    put_file(&file, NEW_CLASS, -1);
    assert_refused(&file, "its unit");
    bytes_clear(&file);
}

/* A list of many lines that many functions share costs two bytes each time. */
static void refuses_more_lines_than_bytes(void **state)
{
    (void)state;
    struct bytes file = {0};
    put_begin(&file, NEW_CLASS);
    put_label(&file, "a.py", 1, "f");
    bytes_put_text(&file, "]q\x01(");
    for (int i = 0; i < 500; i++)
        put_row(&file, i, 1, 1);
    bytes_put_u8(&file, 'e');
    for (int i = 0; i < 500; i++) {
        put_label(&file, "a.py", i, "g");
        bytes_put_text(&file, "h\x01");
    }
    put_end(&file, 1e-9);
    assert_refused(&file, "more lines than bytes");
    bytes_clear(&file);
}

static void refuses_every_cut(void **state)
{
    (void)state;
    struct bytes file = {0};
    put_file(&file, NEW_CLASS, 1e-9);
    for (size_t size = 0; size < file.size; size++) {
        struct recording recording = {0};
        struct err err = {0};
        assert_int_equal(lprof_reader_read(file.data, size, "cut", &recording, &err), -1);
        assert_true(err_is_set(&err));
        recording_clear(&recording);
    }
    bytes_clear(&file);
}

/* Values that are put together in several batches, dropped, doubled and named again. */
static void keeps_the_machine_in_order(void **state)
{
    static const char program[] = "\x80\x04](K\x01K\x02"
                                  "eK\x03"
                                  "a(K\x04"
                                  "1q\x09h\x09\x85K\x05"
                                  "02\x86.";
    (void)state;
    struct pickle_document document = {0};
    uint32_t pair[2], single[1];
    assert_int_equal(pickle_parse(program, sizeof program - 1, &document, NULL), 0);
    assert_true(pickle_get_tuple(&document, document.root, pair, 2));
    assert_int_equal(pair[0], pair[1]);
    assert_true(pickle_get_tuple(&document, pair[0], single, 1));
    const struct pickle_value *list = pickle_at(&document, single[0]);
    assert_int_equal(list->kind, PICKLE_LIST);
    assert_int_equal(list->count, 3);
    uint32_t at = list->first;
    for (int64_t expected = 1; expected <= 3; expected++, at = document.items[at].next)
        assert_int_equal(pickle_at(&document, document.items[at].value)->integer, expected);
    assert_int_equal(at, PICKLE_NONE);
    pickle_clear(&document);
}

static void write_again(const struct recording *recording, struct bytes *out)
{
    struct line_table table;
    assert_int_equal(line_table_build(recording, &(struct selection){0}, GROUP_FUNCTION, &table, NULL), 0);
    assert_int_equal(lprof_writer_write(recording, &table, out, NULL), 0);
    line_table_clear(&table);
}

static void writes_what_it_read(void **state)
{
    (void)state;
    struct bytes file = {0}, again = {0}, third = {0};
    struct recording first = {0}, second = {0};
    put_file(&file, NEW_CLASS, 1e-6);
    assert_int_equal(read_bytes(&file, &first, NULL), 0);
    write_again(&first, &again);
    assert_int_equal(read_bytes(&again, &second, NULL), 0);
    assert_int_equal(second.codes_count, first.codes_count);
    assert_int_equal(second.lines_count, first.lines_count);
    assert_memory_equal(second.lines, first.lines, first.lines_count * sizeof *first.lines);
    write_again(&second, &third);
    assert_int_equal(third.size, again.size);
    assert_memory_equal(third.data, again.data, again.size);
    recording_clear(&first);
    recording_clear(&second);
    bytes_clear(&file);
    bytes_clear(&again);
    bytes_clear(&third);
}

static void sums_files(void **state)
{
    (void)state;
    struct merge merge = {0};
    struct recording sum = {0};
    for (int i = 0; i < 3; i++) {
        struct bytes file = {0};
        struct recording one = {0};
        put_file(&file, i ? NEW_CLASS : OLD_CLASS, 1e-9);
        assert_int_equal(read_bytes(&file, &one, NULL), 0);
        assert_int_equal(merge_add_lines(&merge, &one, NULL), 0);
        recording_clear(&one);
        bytes_clear(&file);
    }
    assert_int_equal(merge_take(&merge, &sum, NULL), 0);
    assert_int_equal(sum.lines_count, 3);
    assert_int_equal(sum.lines[0].hits, 3);
    assert_int_equal(sum.lines[1].total_ns, UINT64_C(6000000000));
    assert_string_equal(recording_meta(&sum, "merged"), "3");
    recording_clear(&sum);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_every_release),
        cmocka_unit_test(minds_the_unit),
        cmocka_unit_test(reads_all_kinds_of_numbers),
        cmocka_unit_test(runs_nothing),
        cmocka_unit_test(refuses_what_is_broken),
        cmocka_unit_test(refuses_other_shapes),
        cmocka_unit_test(refuses_more_lines_than_bytes),
        cmocka_unit_test(refuses_every_cut),
        cmocka_unit_test(keeps_the_machine_in_order),
        cmocka_unit_test(writes_what_it_read),
        cmocka_unit_test(sums_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
