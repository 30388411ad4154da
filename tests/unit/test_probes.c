/* probes: byte code with probes in it, by hand-made functions: where the probes lie, that jumps find their targets over
 * any distance, and that no bytes, however wrong, do harm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collect/inside/probe_code.h"

enum {
    POP_TOP = 1,
    NOP = 9,
    UNARY_POSITIVE = 10,
    RETURN_VALUE = 83,
    FOR_ITER = 93,
    LOAD_CONST = 100,
    JUMP_ABSOLUTE = 113,
    POP_JUMP_IF_FALSE = 114,
    LOAD_FAST = 124,
    RERAISE = 119,
    JUMP_BACKWARD_NO_INTERRUPT = 134,
    JUMP_BACKWARD = 140,
    EXTENDED_ARG = 144,
    RESUME = 151,
    POP_JUMP_BACKWARD_IF_FALSE = 175,
};

#define PROBE(constant) LOAD_CONST, constant, UNARY_POSITIVE, 0, POP_TOP, 0
#define LINES(...)                                                                                           \
    (const uint32_t[])                                                                                       \
    {                                                                                                        \
        __VA_ARGS__                                                                                          \
    }

/* A function of which unit i has lines[i], the first line being 10, with 3 constants. */
static bool make(struct probe_code *made, int minor, const uint8_t *code, size_t units, const uint32_t *lines,
                 const char *handlers, size_t handlers_size)
{
    struct probe_place *places = calloc(units + 1, sizeof *places);
    assert_non_null(places);
    for (size_t i = 0; i < units; i++)
        places[i] =
            (struct probe_place){.line = lines[i], .end_line = lines[i], .column = -1, .end_column = -1};
    const struct probe_source source = {.minor = minor,
                                        .code = code,
                                        .units = units,
                                        .places = places,
                                        .handlers = (const uint8_t *)handlers,
                                        .handlers_size = handlers_size,
                                        .first_line = 10,
                                        .constants = 3};
    bool done = probe_code_make(made, &source);
    free(places);
    return done;
}

static void expect_code(const struct probe_code *made, const uint8_t *code, size_t size)
{
    assert_int_equal(made->code.size, size);
    assert_memory_equal(made->code.data, code, size);
}

/* for i in x: on line 11, its body on line 12, in which `if not i: continue`. */
static const uint8_t loop_10[] = {
    LOAD_FAST,         0,                                                /* 11 */
    FOR_ITER,          4, LOAD_FAST, 0,                                  /* 12 */
    POP_JUMP_IF_FALSE, 1, NOP,       0, JUMP_ABSOLUTE, 1, LOAD_CONST, 0, /* 13 */
    RETURN_VALUE,      0,
};

static void test_jumps_back_have_probes_of_their_own(void **state)
{
    (void)state;
    static const uint8_t expected[] = {
        PROBE(3),
        LOAD_FAST,
        0, /* line 11 */
        FOR_ITER,
        10, /* is reached by jumps alone again */
        PROBE(4),
        LOAD_FAST,
        0,
        POP_JUMP_IF_FALSE,
        20,
        NOP,
        0, /* line 12; jumps by a detour */
        PROBE(5),
        JUMP_ABSOLUTE,
        4, /* line 11 once more */
        PROBE(6),
        LOAD_CONST,
        0,
        RETURN_VALUE,
        0,
        PROBE(7),
        JUMP_ABSOLUTE,
        4, /* the detour */
    };
    static const char lines[] = {10, 1, 20, 1, 10, 1, 8, -1};
    struct probe_code made;
    assert_true(make(&made, 10, loop_10, 8, LINES(11, 11, 12, 12, 12, 12, 13, 13), "", 0));
    expect_code(&made, expected, sizeof expected);
    assert_int_equal(made.probe_count, 5);
    assert_int_equal(made.probes[2].line, 11);
    assert_int_equal(made.probes[4].line, 11);
    assert_int_equal(made.lines.size, sizeof lines);
    assert_memory_equal(made.lines.data, lines, sizeof lines);
    probe_code_clear(&made);
}

static const uint8_t loop_11[] = {
    RESUME,  0, LOAD_FAST,  0, LOAD_FAST,    0, POP_JUMP_BACKWARD_IF_FALSE, 2, LOAD_CONST, 0, RETURN_VALUE, 0,
    POP_TOP, 0, LOAD_CONST, 0, RETURN_VALUE, 0,
};

/* 3.11: the detour is protected as the jump is, and a backward jump becomes a forward one; calls tell of themselves, also
 * those that an exception ends. */
static void test_detours_are_protected(void **state)
{
    (void)state;
    static const char handlers[] = {(char)0x82, 2, 6, 0}; /* the loop, by the instruction at unit 6 */
    struct probe_code made;
    assert_true(
        make(&made, 11, loop_11, 9, LINES(10, 11, 11, 11, 12, 12, 13, 13, 13), handlers, sizeof handlers));
    static const uint8_t expected[] = {
        PROBE(3),
        RESUME,
        0, /* a call begins */
        PROBE(4),
        LOAD_FAST,
        0,
        LOAD_FAST,
        0,
        POP_JUMP_IF_FALSE,
        17, /* to the detour */
        PROBE(5),
        LOAD_CONST,
        0,
        PROBE(6),
        RETURN_VALUE,
        0,
        PROBE(7),
        POP_TOP,
        0,
        LOAD_CONST,
        0,
        PROBE(8),
        RETURN_VALUE,
        0,
        PROBE(9),
        JUMP_BACKWARD,
        23,
        POP_TOP,
        0,
        JUMP_BACKWARD_NO_INTERRUPT,
        33, /* a call arrives */
        PROBE(10),
        RERAISE,
        1, /* an exception goes out */
    };
    expect_code(&made, expected, sizeof expected);
    assert_int_equal(made.arrival, 31);
    assert_int_equal(made.entry, 0);
    assert_int_equal(made.probes[0].when, PROBE_ENTER);
    assert_int_equal(made.probes[3].when, PROBE_LEAVE);
    static const uint8_t table[] = {
        0x80 | 3,  5,  33, 1,                      /* before the loop: out */
        0x80 | 8,  2,  18, 0,                      /* the loop */
        0x80 | 10, 17, 33, 1, 0x80 | 27, 4, 18, 0, /* the detour */
    };
    assert_int_equal(made.handlers.size, sizeof table);
    assert_memory_equal(made.handlers.data, table, sizeof table);
    probe_code_clear(&made);
}

/* Each unit is a line of its own: jumps that were short get long, and so do the numbers of constants. */
static void test_long_jumps(void **state)
{
    (void)state;
    enum { UNITS = 400 };
    uint8_t code[2 * UNITS];
    uint32_t lines[UNITS];
    for (uint32_t i = 0; i < UNITS; i++) {
        code[2 * i] = NOP, code[2 * i + 1] = 0;
        lines[i] = 11 + i;
    }
    code[0] = FOR_ITER, code[1] = 200;
    code[2 * 250] = JUMP_ABSOLUTE, code[2 * 250 + 1] = 1;
    code[2 * (UNITS - 1)] = RETURN_VALUE;
    struct probe_code made;
    assert_true(make(&made, 10, code, UNITS, lines, "", 0));
    assert_int_equal(made.probe_count, UNITS - 1); /* nothing leads behind the jump */
    const uint8_t *jump = made.code.data + 6;
    assert_int_equal(jump[0], EXTENDED_ARG);
    assert_int_equal(jump[2], FOR_ITER);
    uint32_t target = 5 + (uint32_t)(jump[1] << 8 | jump[3]);
    assert_int_equal(made.code.data[2 * target], LOAD_CONST);
    assert_int_equal(made.code.data[2 * target + 1], 3 + 201);
    probe_code_clear(&made);
}

static void test_code_that_is_not_sound(void **state)
{
    (void)state;
    uint8_t code[sizeof loop_10];
    const uint32_t *lines = LINES(11, 11, 12, 12, 12, 12, 13, 13);
    struct probe_code made;
    for (int minor = 8; minor <= 12; minor++) {
        for (size_t at = 0; at < sizeof code; at++) {
            for (int byte = 0; byte < 256; byte++) {
                memcpy(code, loop_10, sizeof code);
                code[at] = (uint8_t)byte;
                make(&made, minor, code, sizeof code / 2, lines, "", 0);
                probe_code_clear(&made);
            }
        }
    }
    static const uint8_t beyond[] = {FOR_ITER, 200, RETURN_VALUE, 0}, cut[] = {EXTENDED_ARG, 1};
    assert_false(make(&made, 10, beyond, 2, lines, "", 0));
    probe_code_clear(&made);
    assert_false(make(&made, 10, cut, 1, lines, "", 0));
    probe_code_clear(&made);
    assert_false(make(&made, 12, loop_10, 8, lines, "", 0));
    probe_code_clear(&made);
}

static void test_handlers_that_are_not_sound(void **state)
{
    (void)state;
    static const uint8_t code[] = {RESUME, 0, NOP, 0, NOP, 0, RETURN_VALUE, 0};
    static const char *const tables[] = {"\x81", "\x81\x02\x09\x01", "\x82\x09\x01\x01",
                                         "\xc1\x7f\x7f\x7f\x7f\x7f\x7f", "\x81\x01\x02"};
    struct probe_code made;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        assert_false(make(&made, 11, code, 4, LINES(10, 11, 12, 13), tables[i], strlen(tables[i])));
        probe_code_clear(&made);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jumps_back_have_probes_of_their_own),
        cmocka_unit_test(test_detours_are_protected),
        cmocka_unit_test(test_long_jumps),
        cmocka_unit_test(test_code_that_is_not_sound),
        cmocka_unit_test(test_handlers_that_are_not_sound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
