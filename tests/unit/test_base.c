/* base: buffers, cursors, maps, interning, checksums, clocks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/checksum.h"
#include "base/clock.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/map.h"
#include "base/strings.h"

static void varints_round_trip(void **state)
{
    (void)state;
    const uint64_t values[] = {0, 1, 127, 128, 16383, 16384, UINT32_MAX, UINT64_MAX - 1, UINT64_MAX};
    struct bytes bytes = {0};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        bytes_put_varint(&bytes, values[i]);
        bytes_put_signed(&bytes, (int64_t)values[i]);
        bytes_put_signed(&bytes, -(int64_t)(values[i] / 2));
    }
    struct cursor cursor = cursor_on(bytes.data, bytes.size);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        assert_true(cursor_get_varint(&cursor) == values[i]);
        assert_true(cursor_get_signed(&cursor) == (int64_t)values[i]);
        assert_true(cursor_get_signed(&cursor) == -(int64_t)(values[i] / 2));
    }
    assert_false(cursor.failed);
    assert_int_equal(cursor_left(&cursor), 0);
    bytes_clear(&bytes);
}

static void cursor_fails_once_and_for_all(void **state)
{
    (void)state;
    const uint8_t endless[12] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01};
    struct cursor cursor = cursor_on(endless, sizeof endless);
    assert_int_equal(cursor_get_varint(&cursor), 0);
    assert_true(cursor.failed);
    assert_null(cursor_get(&cursor, 1));
    cursor = cursor_on(endless, 3);
    assert_int_equal(cursor_get_u32(&cursor), 0);
    assert_true(cursor.failed);
}

static void bytes_stop_at_their_bound(void **state)
{
    (void)state;
    struct bytes bytes = {.max = 10};
    bytes_put_text(&bytes, "12345678");
    bytes_put_text(&bytes, "xyz");
    assert_true(bytes.failed);
    assert_int_equal(bytes.size, 8);
    bytes_clear(&bytes);
}

static void map_keeps_every_key(void **state)
{
    (void)state;
    struct map map = {0};
    for (uint32_t i = 0; i < 100000; i++)
        assert_true(map_set(&map, (uint64_t)i * 0x100000001u, i));
    assert_true(map_set(&map, 0, 7));
    assert_int_equal(map.count, 100000);
    for (uint32_t i = 1; i < 100000; i++)
        assert_int_equal(map_get(&map, (uint64_t)i * 0x100000001u), i);
    assert_int_equal(map_get(&map, 0), 7);
    assert_int_equal(map_get(&map, 5), MAP_NONE);
    map_clear(&map);
}

static void map_with_room_does_not_move(void **state)
{
    (void)state;
    struct map map = {0};
    assert_true(map_set(&map, 3, 4));
    assert_true(map_reserve(&map, 5000));
    const void *before = map.slots;
    for (uint32_t i = 10; i < 5000; i++)
        assert_true(map_set(&map, i, i));
    assert_ptr_equal(map.slots, before);
    assert_true(map_reserve(&map, 1));
    assert_ptr_equal(map.slots, before);
    assert_int_equal(map_get(&map, 3), 4);
    assert_int_equal(map_get(&map, 4999), 4999);
    map_clear(&map);
}

static void strings_are_interned(void **state)
{
    (void)state;
    struct strings strings = {0};
    assert_int_equal(strings_intern_text(&strings, "one"), 1);
    assert_int_equal(strings_intern_text(&strings, ""), 0);
    assert_int_equal(strings_intern(&strings, "a\0b", 3), 2);
    assert_int_equal(strings_intern_text(&strings, "one"), 1);
    for (int i = 0; i < 5000; i++) {
        char text[16];
        snprintf(text, sizeof text, "name%d", i);
        assert_int_equal(strings_intern_text(&strings, text), 3 + i);
    }
    assert_string_equal(strings_text(&strings, 1), "one");
    assert_int_equal(strings_size(&strings, 2), 3);
    assert_string_equal(strings_text(&strings, 99999), "");
    strings_clear(&strings);
}

static void checksum_knows_the_published_value(void **state)
{
    (void)state;
    assert_int_equal(checksum_crc32c(0, "123456789", 9), 0xe3069283u);
    uint32_t piecewise = checksum_crc32c(0, "1234", 4);
    assert_int_equal(checksum_crc32c(piecewise, "56789", 5), 0xe3069283u);
}

static void errors_keep_the_first_cause(void **state)
{
    (void)state;
    struct err err = {0};
    assert_int_equal(err_set(&err, "first %d", 1), -1);
    err_set(&err, "second");
    assert_string_equal(err.text, "first 1");
}

static void clock_converts_both_ways(void **state)
{
    (void)state;
    struct clock_pair early = {.ticks = 1000, .ns = 5000}, late = {.ticks = 3000, .ns = 6000};
    struct clock_rate rate = clock_rate_between(early, late, true);
    assert_int_equal(clock_to_ns(&rate, 2000), 5500);
    assert_int_equal(clock_to_ns(&rate, 0), 4500);
    assert_int_equal(clock_span_ns(&rate, 10), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(varints_round_trip),
        cmocka_unit_test(cursor_fails_once_and_for_all),
        cmocka_unit_test(bytes_stop_at_their_bound),
        cmocka_unit_test(map_keeps_every_key),
        cmocka_unit_test(map_with_room_does_not_move),
        cmocka_unit_test(strings_are_interned),
        cmocka_unit_test(checksum_knows_the_published_value),
        cmocka_unit_test(errors_keep_the_first_cause),
        cmocka_unit_test(clock_converts_both_ways),
    };
    return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
