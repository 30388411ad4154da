/* json: commas, nesting, escapes, and bytes that are no UTF-8; quantity: numbers for people. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/json_reader.h"
#include "base/quantity.h"

static void check(struct bytes *out, const char *expected)
{
    bytes_put_u8(out, '\0');
    assert_false(out->failed);
    assert_string_equal((char *)out->data, expected);
    bytes_clear(out);
}

static void commas_fall_between(void **state)
{
    (void)state;
    struct bytes out = {0};
    struct json json = {.out = &out};
    json_begin_object(&json);
    json_key(&json, "a");
    json_begin_array(&json);
    json_unsigned(&json, UINT64_MAX);
    json_signed(&json, INT64_MIN);
    json_begin_object(&json);
    json_end_object(&json);
    json_begin_array(&json);
    json_end_array(&json);
    json_end_array(&json);
    json_line(&json);
    json_key(&json, "b");
    json_bool(&json, true);
    json_key(&json, "c");
    json_real(&json, 0.25);
    json_key(&json, "d");
    json_real(&json, NAN);
    json_key(&json, "e");
    json_string(&json, NULL);
    json_line(&json);
    json_end_object(&json);
    check(&out, "{\"a\":[18446744073709551615,-9223372036854775808,{},[]],\n"
                "\"b\":true,\"c\":0.25,\"d\":null,\"e\":null\n}");
}

static void text_is_escaped(void **state)
{
    (void)state;
    const struct {
        const char *text;
        size_t size;
        const char *expected;
    } cases[] = {
        {"plain", 5, "\"plain\""},
        {"\"\\\n\t\r\b\f\x01\x7f", 9, "\"\\\"\\\\\\n\\t\\r\\b\\f\\u0001\\u007f\""},
        {"a\0b", 3, "\"a\\u0000b\""},
        {"é€\xf0\x9f\x98\x80", 9, "\"é€\xf0\x9f\x98\x80\""},
        {"\xff\xc3", 2, "\"\xef\xbf\xbd\xef\xbf\xbd\""},
        {"\xc0\x80", 2, "\"\xef\xbf\xbd\xef\xbf\xbd\""},
        {"\xed\xa0\x80", 3, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
        {"\xe2\x82", 2, "\"\xef\xbf\xbd\xef\xbf\xbd\""},
        {"\xf4\x90\x80\x80x", 5, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdx\""},
        {"", 0, "\"\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bytes out = {0};
        struct json json = {.out = &out};
        json_text(&json, cases[i].text, cases[i].size);
        check(&out, cases[i].expected);
    }
}

static void quantities_read_well(void **state)
{
    (void)state;
    const struct {
        double ns;
        const char *expected;
    } durations[] = {{0, "0 ns"},          {12, "12 ns"},       {999.9, "1.00 µs"}, {1500, "1.50 µs"},
                     {12345e3, "12.3 ms"}, {999.9e6, "1.00 s"}, {69e9, "69.0 s"},   {125.2e9, "2 min 5 s"}};
    for (size_t i = 0; i < sizeof durations / sizeof *durations; i++)
        assert_string_equal(quantity_duration(durations[i].ns).text, durations[i].expected);
    assert_string_equal(quantity_count(0).text, "0");
    assert_string_equal(quantity_count(999).text, "999");
    assert_string_equal(quantity_count(1234567).text, "1,234,567");
    assert_string_equal(quantity_count(UINT64_MAX).text, "18,446,744,073,709,551,615");
    assert_string_equal(quantity_share(0.0123).text, "1.2%");
    assert_string_equal(quantity_share(0.0996).text, "10%");
    assert_string_equal(quantity_share(1).text, "100%");
}

/* ---- reading ---- */

/* The tokens as letters; '!' = not JSON. */
static const char *tokens(const char *text)
{
    static char letters[128];
    static const char names[] = "!$o)a]ksntf0";
    struct json_reader reader = {.at = text, .end = text + strlen(text)};
    size_t count = 0;
    enum json_token token;
    do {
        token = json_reader_next(&reader);
        letters[count++] = names[token];
    } while (token != JSON_WRONG && token != JSON_END && count < sizeof letters - 1);
    if (token == JSON_WRONG)
        assert_int_equal(json_reader_next(&reader), JSON_WRONG); /* and stays so */
    letters[count] = '\0';
    json_reader_clear(&reader);
    return letters;
}

static void what_is_json_and_what_is_not(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"{}", "o)$"},
        {" [ ] ", "a]$"},
        {"1", "n$"},
        {"-0.5e+3", "n$"},
        {"[1,\"x\",true,false,null]", "anstf0]$"},
        {"{\"a\":[{\"b\":2}],\"c\":\"\"}", "okaokn)]ks)$"},
        {"", "!"},
        {"[", "a!"},
        {"[1,]", "an!"},
        {"[,1]", "a!"},
        {"[1 2]", "an!"},
        {"{\"a\"}", "o!"},
        {"{\"a\":}", "ok!"},
        {"{a:1}", "o!"},
        {"[1}", "an!"},
        {"01", "!"},
        {"1.", "!"},
        {"-", "!"},
        {"1e", "!"},
        {"nul", "!"},
        {"\"a", "!"},
        {"\"\\x\"", "!"},
        {"\"\\u12g4\"", "!"},
        {"\"\n\"", "!"},
        {"1 1", "n!"},
        {"{} {}", "o)!"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_string_equal(tokens(rows[i][0]), rows[i][1]);
    char deep[JSON_READER_DEPTH + 2];
    memset(deep, '[', JSON_READER_DEPTH + 1);
    deep[JSON_READER_DEPTH + 1] = '\0';
    assert_int_equal(strlen(tokens(deep)), JSON_READER_DEPTH + 1);
}

static void values_are_read(void **state)
{
    (void)state;
    const char text[] =
        "[\"a\\n\\\"\\u00e9\\ud83d\\ude00\\ud83dx\", 123456789012345, -2.5e3, 12345678901234567890, "
        "{\"skip\": [1, {\"x\": [[]]}], \"k\": 7}]";
    struct json_reader reader = {.at = text, .end = text + sizeof text - 1};
    assert_int_equal(json_reader_next(&reader), JSON_ARRAY);
    assert_int_equal(json_reader_next(&reader), JSON_STRING);
    assert_true(json_reader_is(&reader, "a\n\"\xc3\xa9\xf0\x9f\x98\x80\xef\xbf\xbdx"));
    const double numbers[] = {123456789012345, -2500, 12345678901234567890.0};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(json_reader_next(&reader), JSON_NUMBER);
        assert_true(reader.number == numbers[i]);
    }
    assert_int_equal(json_reader_next(&reader), JSON_OBJECT);
    assert_int_equal(json_reader_next(&reader), JSON_KEY);
    assert_true(json_reader_skip(&reader));
    assert_int_equal(json_reader_next(&reader), JSON_KEY);
    assert_true(json_reader_is(&reader, "k"));
    assert_true(json_reader_skip(&reader));
    assert_int_equal(json_reader_next(&reader), JSON_OBJECT_END);
    assert_int_equal(json_reader_next(&reader), JSON_ARRAY_END);
    assert_int_equal(json_reader_next(&reader), JSON_END);
    json_reader_clear(&reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commas_fall_between),  cmocka_unit_test(text_is_escaped),
        cmocka_unit_test(quantities_read_well), cmocka_unit_test(what_is_json_and_what_is_not),
        cmocka_unit_test(values_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
