/* Values out of memory that means nothing, or harm: always an end, never more bytes than promised. What the
 * values of sound memory look like is held against Python's own repr in tests/e2e/test_layouts.py. */
#include "python/dictionary.h"
#include "python/locals.h"
#include "python/value_text.h"
#include "python/values.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* ---- numbers and characters as Python writes them ---- */

static char written[8192];

static struct value_text fresh(size_t limit)
{
    return (struct value_text){.out = written, .limit = limit};
}

static void assert_written(const struct value_text *text, const char *expected)
{
    assert_int_equal(text->size, strlen(expected));
    assert_memory_equal(text->out, expected, text->size);
}

static void test_floats(void **state)
{
    (void)state;
    static const struct {
        double number;
        const char *words;
    } cases[] = {{0.1, "0.1"},
                 {1, "1.0"},
                 {-0.0, "-0.0"},
                 {1e16, "1e+16"},
                 {1e15, "1000000000000000.0"},
                 {0.0001, "0.0001"},
                 {0.00001, "1e-05"},
                 {5e-324, "5e-324"},
                 {1.5e300, "1.5e+300"},
                 {2.0 / 3, "0.6666666666666666"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct value_text text = fresh(64);
        value_text_put_float(&text, cases[i].number, true);
        assert_written(&text, cases[i].words);
    }
    struct value_text text = fresh(64);
    value_text_put_complex(&text, -0.0, -2);
    assert_written(&text, "(-0-2j)");
}

static void test_ints(void **state)
{
    (void)state;
    uint32_t digits[VALUE_TEXT_DIGITS] = {0, 0, 1 << 4}; /* 2 to the 64 */
    struct value_text text = fresh(64);
    assert_true(value_text_put_int(&text, digits, 3, true));
    assert_written(&text, "-18446744073709551616");
    text = fresh(64);
    assert_true(value_text_put_int(&text, digits, 0, false));
    assert_written(&text, "0");
    for (size_t i = 0; i < VALUE_TEXT_DIGITS; i++)
        digits[i] = (1u << 30) - 1;
    text = fresh(sizeof written);
    assert_false(value_text_put_int(&text, digits, VALUE_TEXT_DIGITS + 1, false));
    assert_true(value_text_put_int(&text, digits, VALUE_TEXT_DIGITS, false));
    assert_true(text.cut);
    assert_true(text.size > 8000);
}

static void test_characters(void **state)
{
    (void)state;
    struct value_text text = fresh(64);
    const uint32_t characters[] = {'a', '\'', '"', '\\', '\n', 0, 0xe9, 0x20ac, 0x1f40d, 0xd800, 0x200b};
    for (size_t i = 0; i < sizeof characters / sizeof *characters; i++)
        value_text_put_character(&text, characters[i], '\'', false);
    assert_written(&text, "a\\'\"\\\\\\n\\x00\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\x8d\\ud800\\u200b");
    text = fresh(3);
    value_text_put_character(&text, 0x20ac, '\'', false);
    value_text_put_character(&text, 0xe9, '\'', false);
    assert_true(text.cut);
    assert_written(&text, "\xe2\x82\xac");
}

/* ---- memory that is everywhere, and random ---- */

enum { TYPES = 0x10000, TYPE_BYTES = 1024, NAMES = 0x200000, NAME_BYTES = 64, OBJECTS = 0x1000000 };

static const char *const type_names[] = {
    "NoneType", "bool",      "int",      "float",         "complex",       "str",
    "bytes",    "bytearray", "list",     "tuple",         "dict",          "set",
    "range",    "slice",     "function", "method",        "generator",     "code",
    "module",   "cell",      "type",     "numpy.ndarray", "_thread.RLock", "builtin_function_or_method",
    "Own",      "Error",     "Fields",   "frozenset",     "EnumType",
};
enum { TYPE_COUNT = sizeof type_names / sizeof *type_names };

struct chaos {
    struct layout layout;
    uint64_t seed;
    unsigned reads;
    unsigned failing; /* of 64 reads */
};

static uint64_t scramble(uint64_t word)
{
    word ^= word >> 31;
    word *= 0x9e3779b97f4a7c15u;
    word ^= word >> 29;
    return word * 0xbf58476d1ce4e5b9u >> 3;
}

/* The word at an address: of a type, a name, or of an object: then a pointer, a small number or anything. */
static uint64_t word_at(const struct chaos *chaos, uint64_t address)
{
    uint64_t random = scramble(address / 8 + chaos->seed);
    uint64_t pointer = OBJECTS + random / 16 % 4096 * 64;
    if (address >= TYPES && address < TYPES + TYPE_COUNT * TYPE_BYTES) {
        uint64_t index = (address - TYPES) / TYPE_BYTES, field = (address - TYPES) % TYPE_BYTES;
        if (field == chaos->layout.type_name)
            return NAMES + index * NAME_BYTES;
        if (field == chaos->layout.type_flags)
            return index < 24 ? random & (1 << 9) & -(random & 1) : random | 1 << 9;
        if (field == chaos->layout.object_type)
            return TYPES + random % TYPE_COUNT * TYPE_BYTES;
        return random % 2 ? pointer : random % 512;
    }
    if (address % 64 == chaos->layout.object_type)
        return TYPES + random / 7 % TYPE_COUNT * TYPE_BYTES;
    switch (random % 8) {
    case 0:
        return random;
    case 1:
        return UINT64_MAX - random % 64;
    case 2:
    case 3:
        return random / 8 % 64;
    default:
        return pointer;
    }
}

static unsigned char byte_at(const struct chaos *chaos, uint64_t address)
{
    if (address >= NAMES && address < NAMES + TYPE_COUNT * NAME_BYTES) {
        const char *name = type_names[(address - NAMES) / NAME_BYTES];
        size_t place = (address - NAMES) % NAME_BYTES;
        return place < strlen(name) ? (unsigned char)name[place] : 0;
    }
    return (unsigned char)(word_at(chaos, address & ~(uint64_t)7) >> 8 * (address & 7));
}

static bool read_chaos(void *context, uint64_t address, void *out, size_t size)
{
    struct chaos *chaos = context;
    unsigned char *bytes = out;
    chaos->reads++;
    if (scramble(address + chaos->reads) % 64 < chaos->failing)
        return false;
    for (size_t i = 0; i < size; i++)
        bytes[i] = byte_at(chaos, address + i);
    return true;
}

static bool read_nothing(void *context, uint64_t address, void *out, size_t size)
{
    (void)context;
    (void)address;
    memset(out, 0, size);
    return true;
}

/* From 3.13 on the offsets are published; the ones of 3.12 serve here, with what that version does by them. */
static struct layout layout_of(unsigned minor)
{
    struct memory zeros = {.read = read_nothing};
    struct layout layout;
    struct err err = {{0}};
    assert_int_equal(layouts_read(&zeros, 64, 0x03000000 | (minor > 12 ? 12 : minor) << 16, &layout, &err),
                     0);
    layout.version = 0x030000f0 | minor << 16;
    return layout;
}

static void test_chaos(void **state)
{
    (void)state;
    static char out[VALUES_DETAILED_BYTES];
    size_t longest = 0;
    for (unsigned minor = 9; minor <= 15; minor++) {
        struct chaos chaos = {.layout = layout_of(minor)};
        struct values values = {.layout = &chaos.layout, .memory = {.read = read_chaos, .context = &chaos}};
        for (unsigned round = 0; round < 400; round++) {
            chaos.seed = round * 977 + minor;
            chaos.failing = round % 4;
            chaos.reads = 0;
            values.detailed = round % 2;
            size_t size = values_put(&values, OBJECTS + round % 512 * 64, out);
            assert_true(size > 0);
            assert_true(size <= (values.detailed ? VALUES_DETAILED_BYTES : VALUES_BRIEF_BYTES));
            assert_true(chaos.reads <= 20000);
            longest = size > longest ? size : longest;
        }
    }
    assert_int_equal(longest, VALUES_DETAILED_BYTES);
}

static void test_chaotic_locals(void **state)
{
    (void)state;
    static struct locals_row rows[64];
    unsigned found = 0;
    for (unsigned minor = 9; minor <= 15; minor++) {
        struct chaos chaos = {.layout = layout_of(minor)};
        struct memory memory = {.read = read_chaos, .context = &chaos};
        for (unsigned round = 0; round < 2000; round++) {
            chaos.seed = round * 1013 + minor;
            chaos.failing = round % 2;
            ssize_t count =
                locals_read(&chaos.layout, &memory, OBJECTS + round % 64 * 64, OBJECTS + 4096, rows, 64);
            assert_true(count >= -1 && count <= 64);
            found += count > 0;
        }
    }
    assert_true(found > 100);
}

/* No read succeeds: the address is told. */
static bool read_failing(void *context, uint64_t address, void *out, size_t size)
{
    (void)context;
    (void)address;
    (void)out;
    (void)size;
    return false;
}

static void test_unreadable(void **state)
{
    (void)state;
    char out[VALUES_DETAILED_BYTES];
    struct layout layout = layout_of(14);
    struct values values = {.layout = &layout, .memory = {.read = read_failing}};
    size_t size = values_put(&values, 0x1000, out);
    assert_int_equal(size, strlen("<unreadable at 0x1000>"));
    assert_memory_equal(out, "<unreadable at 0x1000>", size);
    assert_int_equal(values_put(&values, 5 << 2 | 3, out), 1); /* a number in the slot itself */
    assert_int_equal(out[0], '5');
    struct dictionary dictionary;
    assert_false(dictionary_init(&dictionary, &layout, &values.memory, 0x1000));
    uint64_t key, value;
    assert_false(dictionary_next(&dictionary, &key, &value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_floats),         cmocka_unit_test(test_ints),
        cmocka_unit_test(test_characters),     cmocka_unit_test(test_chaos),
        cmocka_unit_test(test_chaotic_locals), cmocka_unit_test(test_unreadable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
