/* One stack of native and Python frames, written as text: innermost first, as native_merge takes them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "collect/recorder/native_merge.h"

/* Native frames: c plain, E evaluator, p piece of it, n with an evaluator's beginning inlined. Python frames: e called
 * from C, i called by Python. In the result native frames are letters, Python frames digits. */
struct merge_case {
    const char *native, *python, *merged;
    bool native_is_cut, python_is_cut;
    bool agrees;
};

static uint8_t kind_of(char letter)
{
    return letter == 'E'   ? NATIVE_MERGE_EVALUATOR
           : letter == 'p' ? NATIVE_MERGE_PIECE
           : letter == 'n' ? NATIVE_MERGE_ENTRANCE
                           : NATIVE_MERGE_PLAIN;
}

static const struct merge_case cases[] = {
    {.native = "", .python = "", .merged = "", .agrees = true},
    {.native = "ccc", .python = "", .merged = "ccc", .agrees = true},
    {.native = "cEcc", .python = "iie", .merged = "c012cc", .agrees = true},
    {.native = "cEccEc", .python = "iieie", .merged = "c012cc34c", .agrees = true},
    {.native = "EEc", .python = "ee", .merged = "01c", .agrees = true}, /* one inlined what lay between */
    /* the tail-call interpreter: the instruction, then who called the first one */
    {.native = "cpEc", .python = "ie", .merged = "c01c", .agrees = true},
    {.native = "cpnc", .python = "ie", .merged = "c01nc", .agrees = true},
    {.native = "cpcpEc", .python = "ee", .merged = "c0c1c", .agrees = true},
    {.native = "p", .python = "e", .merged = "0", .agrees = true},
    /* the innermost evaluator enters or leaves */
    {.native = "cEcEc", .python = "ie", .merged = "cEc01c", .agrees = true},
    {.native = "ncEc", .python = "eie", .merged = "0nc12c", .agrees = true},
    {.native = "ncEc", .python = "ie", .merged = "nc01c", .agrees = true},
    /* what cannot be */
    {.native = "cEcEcEc", .python = "e", .merged = "cEcEc0c"},
    {.native = "ccEc", .python = "eie", .merged = "0cc12c"},
    {.native = "cc", .python = "e", .merged = "0cc"},
    /* roots that are missing */
    {.native = "cEc", .python = "iee", .merged = "c01c2", .native_is_cut = true},
    {.native = "cEcEc", .python = "ieii", .merged = "c01c23c", .python_is_cut = true, .agrees = true},
    {.native = "cEcEcE", .python = "iei", .merged = "c01c2cE", .python_is_cut = true},
    /* a made-up frame: with the Python frames below it, or left out */
    {.native = "ccEc", .python = "ie", .merged = "cc01c", .agrees = true},
    {.native = "cc", .python = "i", .merged = "cc", .agrees = true},
    {.native = "cc", .python = "i", .merged = "cc", .native_is_cut = true, .agrees = true},
    {.native = "cc", .python = "i", .merged = "cc0", .python_is_cut = true},
    {.native = "", .python = "i", .merged = "0", .agrees = true},
};

static void merge_text(const struct merge_case *row, char *text, bool *agrees)
{
    uint8_t native[16], python[16];
    struct native_merge_frame frames[32];
    size_t native_count = strlen(row->native), python_count = strlen(row->python);
    for (size_t i = 0; i < native_count; i++)
        native[i] = kind_of(row->native[i]);
    for (size_t i = 0; i < python_count; i++)
        python[i] = row->python[i] == 'e';
    const struct native_merge_stacks stacks = {.native = native,
                                               .native_count = native_count,
                                               .native_is_whole = !row->native_is_cut,
                                               .python = python,
                                               .python_count = python_count,
                                               .python_is_whole = !row->python_is_cut};
    size_t count = native_merge(&stacks, frames, agrees);
    assert_true(count <= native_count + python_count);
    for (size_t i = 0; i < count; i++)
        text[i] = frames[i].is_python ? (char)('0' + frames[i].index) : row->native[frames[i].index];
    text[count] = '\0';
}

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[33];
        bool agrees;
        merge_text(&cases[i], text, &agrees);
        assert_string_equal(text, cases[i].merged);
        assert_int_equal(agrees, cases[i].agrees);
    }
}

/* Whatever the stacks are: every Python frame is there once and in order, and so is every plain native frame. (One
 * Python frame that C has not called is made up.) */
static void test_nothing_is_lost(void **state)
{
    (void)state;
    static const char letters[] = "cEpn";
    for (unsigned number = 0; number < 4096 * 32; number++) {
        char native[7] = "", python[6] = "", text[33];
        for (unsigned i = 0; i < number % 7 && i < 6; i++)
            native[i] = letters[number >> (2 * i) & 3];
        for (unsigned i = 0; i < number % 6; i++)
            python[i] = number >> (12 + i) & 1 ? 'e' : 'i';
        struct merge_case row = {
            .native = native, .python = python, .native_is_cut = number & 1, .python_is_cut = number & 2};
        bool agrees;
        merge_text(&row, text, &agrees);
        size_t python_seen = 0, native_seen = 0;
        for (const char *at = text; *at; at++) {
            if (*at >= '0' && *at <= '9')
                assert_int_equal(*at - '0', python_seen++);
            native_seen += *at == 'c' || *at == 'n';
        }
        for (const char *at = native; *at; at++)
            native_seen -= *at == 'c' || *at == 'n';
        bool made_up = strcmp(python, "i") == 0 && !row.python_is_cut && native[0];
        assert_int_equal(python_seen, made_up ? 0 : strlen(python));
        assert_int_equal(native_seen, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases), cmocka_unit_test(test_nothing_is_lost)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
