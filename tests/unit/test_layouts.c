/* What a CPython looks like: refusals, damaged tables, line tables and text, on made-up memory. */
#include "python/layouts.h"
#include "python/lines.h"
#include "python/names.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* Memory that is one array at BASE. */
enum { BASE = 0x10000, IMAGE_BYTES = 4096 };

struct image {
    unsigned char bytes[IMAGE_BYTES];
};

static bool read_image(void *context, uint64_t address, void *out, size_t size)
{
    struct image *image = context;
    if (address < BASE || size > IMAGE_BYTES || address - BASE > IMAGE_BYTES - size)
        return false;
    memcpy(out, image->bytes + (address - BASE), size);
    return true;
}

static struct memory memory_of_image(struct image *image)
{
    return (struct memory){.read = read_image, .context = image};
}

static void put_word(struct image *image, size_t offset, uint64_t word)
{
    memcpy(image->bytes + offset, &word, sizeof word);
}

/* The words that a real 3.14.10 publishes, as far as they are read. */
static const uint64_t words_3_14[] = {
    0x30e0af0, 0x0,  0x4d4c8, 0x310, 0x328,  0x37248, 0x1c70, 0x1c68, 0x1cb0, 0x1cc0, 0x1cf0, 0x1e08, 0x1df8,
    0x1e00,    0x10, 0x1e68,  0x0,   0x1e78, 0x1e70,  0x1f38, 0x0,    0x340,  0x0,    0x8,    0x10,   0x48,
    0x98,      0xa0, 0xe8,    0x20,  0x58,   0x8,     0x0,    0x38,   0x50,   0x4a,   0x40,   0x0,    0xd8,
    0x70,      0x78, 0x80,    0x88,  0x44,   0x34,    0x60,   0x68,   0xd0,   0x0,    0x10,   0x8,    0x1a0,
    0x18,      0x58, 0xa8,    0x28,  0x20,   0x10,    0x28,   0x18,   0x10,   0xc8,   0x18,   0x28,   0x20,
    0x30,      0x20, 0x28,    0x18,  0x10,   0x20,    0x10,   0x18,   0x28,   0x10,   0x20,   0x40,   0x20,
    0x10,      0x28, 0x108,   0xc0,  0xa0,   0x18,    0x48,   0x43};

static void publish_3_14(struct image *image)
{
    memset(image, 0, sizeof *image);
    memcpy(image->bytes, "xdebugpy", 8);
    memcpy(image->bytes + 8, words_3_14, sizeof words_3_14);
}

static int read_layout(struct image *image, uint32_t version, struct layout *layout, struct err *err)
{
    struct memory memory = memory_of_image(image);
    *err = (struct err){{0}};
    return layouts_read(&memory, BASE, version, layout, err);
}

static void test_published(void **state)
{
    (void)state;
    struct image image;
    struct layout layout;
    struct err err;
    publish_3_14(&image);
    assert_int_equal(read_layout(&image, 0, &layout, &err), 0);
    assert_int_equal(layout_minor(&layout), 14);
    assert_int_equal(layout.chain, LAYOUT_CURRENT_FRAME);
    assert_int_equal(layout.thread_frame, 0x48);
    assert_int_equal(layout.thread_stack_top, 0xf0);
    assert_int_equal(layout.frame_owner, 0x4a);
    assert_int_equal(layout.code_instructions, 0xd0);
    assert_int_equal(layout.gil_holder, 8);
    assert_int_equal(layout.gil_locked, 16);
    assert_int_equal(layout.text_ascii_data, 0x28);
}

static void assert_refused(struct image *image, uint32_t version, const char *words)
{
    struct layout layout;
    struct err err;
    assert_int_equal(read_layout(image, version, &layout, &err), -1);
    assert_non_null(strstr(err.text, words));
    assert_int_equal(layout.version, 0);
}

static void test_refused(void **state)
{
    (void)state;
    struct image image;
    publish_3_14(&image);
    put_word(&image, 8, 0x031000f0);
    assert_refused(&image, 0, "newer");
    put_word(&image, 8, 0x030e00b4);
    assert_refused(&image, 0, "pre-release");
    publish_3_14(&image);
    put_word(&image, 16, 1);
    assert_refused(&image, 0, "free-threaded");
    memset(&image, 0, sizeof image);
    assert_refused(&image, 0, "cannot be found");
    assert_refused(&image, 0x030812f0, "3.8");
    assert_refused(&image, 0x030e00f0, "does not publish");
}

/* Every word that is used, made absurd: refused, or an offset by which the walk does not find its bytes. */
static void test_damaged_table(void **state)
{
    (void)state;
    const uint64_t absurd[] = {UINT64_MAX, 1u << 31, 100000000, 4000};
    unsigned refused = 0;
    for (size_t word = 2; word < sizeof words_3_14 / sizeof *words_3_14; word++) {
        for (size_t i = 0; i < sizeof absurd / sizeof *absurd; i++) {
            struct image image;
            struct layout layout;
            struct err err;
            publish_3_14(&image);
            put_word(&image, 8 + 8 * word, absurd[i]);
            bool failed = read_layout(&image, 0, &layout, &err) < 0;
            refused += failed;
            if (!failed) {
                assert_true(layout.frame_locals <= LAYOUT_FRAME_LIMIT);
                assert_true(layout.frame_owner < layout.frame_locals);
                assert_true(layout.code_instructions <= LAYOUT_CODE_LIMIT);
                assert_true(layout.thread_stack_top + 8 <= LAYOUT_THREAD_LIMIT);
            }
        }
    }
    assert_true(refused > 100);
}

static void test_versions(void **state)
{
    (void)state;
    assert_int_equal(layouts_version("3.12.1"), 0x030c01f0);
    assert_int_equal(layouts_version("3.13.0rc2 (main, Sep  9 2024)"), 0x030d00c2);
    assert_int_equal(layouts_version("3.15.0a7+"), 0x030f00a7);
    assert_int_equal(layouts_version("3.9"), 0x030900f0);
    assert_int_equal(layouts_version("PyPy"), 0);
    assert_int_equal(layouts_version("3"), 0);
    assert_int_equal(layouts_version(""), 0);
}

static void assert_line(enum lines_format format, const uint8_t *table, size_t size, int offset, int line)
{
    assert_int_equal(lines_find(format, table, size, 10, offset).line, line);
}

static void test_lines(void **state)
{
    (void)state;
    const uint8_t lnotab[] = {0, 1, 6, 2, 8, 0xff};
    assert_line(LINES_3_9, lnotab, sizeof lnotab, 0, 11);
    assert_line(LINES_3_9, lnotab, sizeof lnotab, 6, 13);
    assert_line(LINES_3_9, lnotab, sizeof lnotab, 14, 12);
    const uint8_t line_table[] = {4, 1, 2, 0x80, 6, 3};
    assert_line(LINES_3_10, line_table, sizeof line_table, 2, 11);
    assert_line(LINES_3_10, line_table, sizeof line_table, 4, -1);
    assert_line(LINES_3_10, line_table, sizeof line_table, 6, 14);
    assert_line(LINES_3_10, line_table, sizeof line_table, 12, -1);
    /* Short form, one line further, no columns two lines back, long form. */
    const uint8_t locations[] = {
        0x80 | 1 << 3 | 1, 0x25, 0x80 | 11 << 3, 4, 9, 0x80 | 13 << 3, 5, 0x80 | 14 << 3, 6, 1, 3, 8};
    struct lines_location short_form = lines_find(LINES_LOCATIONS, locations, sizeof locations, 10, 2);
    assert_int_equal(short_form.column, 10);
    assert_int_equal(short_form.end_column, 15);
    assert_line(LINES_LOCATIONS, locations, sizeof locations, 4, 11);
    assert_line(LINES_LOCATIONS, locations, sizeof locations, 6, 9);
    struct lines_location long_form = lines_find(LINES_LOCATIONS, locations, sizeof locations, 10, 8);
    assert_int_equal(long_form.line, 12);
    assert_int_equal(long_form.end_line, 13);
    assert_int_equal(long_form.column, 2);
    assert_int_equal(long_form.end_column, 7);
    assert_line(LINES_LOCATIONS, locations, sizeof locations, -2, 10);
}

/* Cut short, or bytes that mean nothing: an answer, and no read outside (ASan sees that). */
static void test_damaged_lines(void **state)
{
    (void)state;
    uint8_t table[64];
    uint32_t seed = 1;
    for (int round = 0; round < 20000; round++) {
        size_t size = seed % sizeof table;
        for (size_t i = 0; i < size; i++)
            table[i] = (uint8_t)((seed = seed * 1664525 + 1013904223) >> 24);
        for (int format = LINES_3_9; format <= LINES_LOCATIONS; format++)
            lines_find((enum lines_format)format, table, size, 0x7fffffff, (int32_t)(seed >> 20));
        seed++;
    }
    assert_int_equal(lines_find(LINES_LOCATIONS, table, 0, 5, 0).line, -1);
}

static void assert_text(unsigned width, bool ascii, const void *data, size_t length, const char *expected,
                        size_t capacity)
{
    struct image image;
    struct layout layout;
    struct err err;
    char out[64];
    publish_3_14(&image);
    assert_int_equal(read_layout(&image, 0, &layout, &err), 0);
    put_word(&image, 1024 + layout.text_length, length);
    put_word(&image, 1024 + layout.text_state, (width | 8 | (ascii ? 16 : 0)) << layout.text_kind_bit);
    memcpy(image.bytes + 1024 + (ascii ? layout.text_ascii_data : layout.text_compact_data), data,
           width * length);
    struct memory memory = memory_of_image(&image);
    ssize_t got = names_text(&layout, &memory, BASE + 1024, out, capacity);
    assert_int_equal(got, strlen(expected));
    assert_memory_equal(out, expected, got);
}

static void test_text(void **state)
{
    (void)state;
    const uint16_t two[] = {'a', 0xe9, 0x20ac, 0xdcff, 0xd800};
    const uint32_t four[] = {'x', 0x1f40d, 0x20ac};
    assert_text(1, true, "main", 4, "main", 64);
    assert_text(1, true, "main", 4, "ma", 2);
    assert_text(1, false, "na\xefve", 5, "na\xc3\xafve", 64);
    assert_text(2, false, two, 5, "a\xc3\xa9\xe2\x82\xac\xff\\ud800", 64);
    assert_text(4, false, four, 3, "x\xf0\x9f\x90\x8d\xe2\x82\xac", 64);
    assert_text(4, false, four, 3, "x", 4);
}

static void test_bad_text(void **state)
{
    (void)state;
    struct image image;
    struct layout layout;
    struct err err;
    char out[64];
    publish_3_14(&image);
    assert_int_equal(read_layout(&image, 0, &layout, &err), 0);
    struct memory memory = memory_of_image(&image);
    assert_int_equal(names_text(&layout, &memory, 0, out, sizeof out), -1);
    assert_int_equal(names_text(&layout, &memory, BASE + IMAGE_BYTES - 20, out, sizeof out), -1);
    put_word(&image, 1024 + layout.text_length, UINT64_MAX / 2);
    put_word(&image, 1024 + layout.text_state, (1 | 8 | 16) << layout.text_kind_bit);
    assert_int_equal(names_text(&layout, &memory, BASE + 1024, out, sizeof out), -1);
    put_word(&image, 1024 + layout.text_length, 4);
    put_word(&image, 1024 + layout.text_state, (3 | 8 | 16) << layout.text_kind_bit);
    assert_int_equal(names_text(&layout, &memory, BASE + 1024, out, sizeof out), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published),     cmocka_unit_test(test_refused),
        cmocka_unit_test(test_damaged_table), cmocka_unit_test(test_versions),
        cmocka_unit_test(test_lines),         cmocka_unit_test(test_damaged_lines),
        cmocka_unit_test(test_text),          cmocka_unit_test(test_bad_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
