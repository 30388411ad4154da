/* Names of addresses in this very program, which is built with debug data; other files are in tests/e2e. */
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "symbols/demangle.h"
#include "symbols/symbols.h"

static int find_bias(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    *(uint64_t *)context = info->dlpi_addr;
    return 1; /* the program is the first */
}

/* The address in the file. */
static uint64_t in_file(const void *address)
{
    uint64_t bias = 0;
    dl_iterate_phdr(find_bias, &bias);
    return (uint64_t)(uintptr_t)address - bias;
}

static const char *own_path(void)
{
    static char path[4096];
    ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);
    assert_true(size > 0);
    path[size] = '\0';
    return path;
}

static uint64_t caller;

__attribute__((noinline)) static void note_caller(void)
{
    caller = in_file(__builtin_return_address(0)) - 1;
}

static inline __attribute__((always_inline)) int inner_part(int value)
{
    note_caller();
    return value + 1;
}

static int outer_line;

__attribute__((noinline)) static int outer_part(int value)
{
    outer_line = __LINE__ + 1;
    return inner_part(value) * 2;
}

static const char *file_name(const struct symbols_frame *frame)
{
    const char *slash = strrchr(frame->file, '/');
    return slash ? slash + 1 : frame->file;
}

static void test_inlined_frames(void **state)
{
    (void)state;
    if (symbols_unavailable())
        skip();
    struct symbols *symbols = symbols_new(NULL, 0);
    struct symbols_frame frames[SYMBOLS_INLINE_MAX];
    uint32_t module = symbols_module(symbols, own_path(), NULL, 0);
    assert_int_equal(outer_part(1), 4);
    for (int round = 0; round < 2; round++) { /* the second time from the cache */
        assert_int_equal(symbols_find(symbols, module, caller, frames), 2);
        assert_string_equal(frames[0].function, "inner_part");
        assert_true(frames[0].is_inlined);
        assert_string_equal(frames[1].function, "outer_part");
        assert_false(frames[1].is_inlined);
        assert_string_equal(file_name(&frames[0]), "test_symbols.c");
        assert_string_equal(file_name(&frames[1]), "test_symbols.c");
        assert_int_equal(frames[1].line, outer_line);
        assert_in_range(frames[0].line, 1, outer_line);
    }
    assert_string_equal(symbols_problem(symbols, module), "");
    symbols_free(symbols);
}

static void test_always_a_name(void **state)
{
    (void)state;
    struct symbols *symbols = symbols_new((const char *[]){"/nowhere"}, 1);
    struct symbols_frame frames[SYMBOLS_INLINE_MAX];
    uint32_t missing = symbols_module(symbols, "/no/such/libfoo.so.1", NULL, 0);
    assert_int_equal(symbols_find(symbols, missing, 0x1234, frames), 1);
    assert_string_equal(frames[0].function, "libfoo.so.1+0x1234");
    assert_string_equal(frames[0].file, "");
    assert_true(frames[0].is_offset);
    assert_non_null(strstr(symbols_problem(symbols, missing), "/no/such/libfoo.so.1"));
    uint32_t nameless = symbols_module(symbols, "", NULL, 0);
    assert_int_equal(symbols_find(symbols, nameless, 16, frames), 1);
    assert_string_equal(frames[0].function, "[anonymous]");
    assert_int_equal(symbols_find(symbols, 77, 16, frames), 1);
    assert_string_equal(frames[0].function, "[unknown module]");
    symbols_free(symbols);
}

static void test_other_build(void **state)
{
    (void)state;
    struct symbols *symbols = symbols_new(NULL, 0);
    struct symbols_frame frames[SYMBOLS_INLINE_MAX];
    const uint8_t build_id[] = {1, 2, 3, 4};
    uint32_t module = symbols_module(symbols, own_path(), build_id, sizeof build_id);
    assert_int_equal(symbols_module(symbols, own_path(), build_id, sizeof build_id), module);
    assert_int_not_equal(symbols_module(symbols, own_path(), build_id, 3), module);
    symbols_find(symbols, module, in_file((void *)(uintptr_t)outer_part), frames);
    assert_true(frames[0].is_offset);
    assert_non_null(strstr(symbols_problem(symbols, module), "another build"));
    symbols_free(symbols);
}

static void test_not_elf(void **state)
{
    (void)state;
    struct symbols *symbols = symbols_new(NULL, 0);
    struct symbols_frame frames[SYMBOLS_INLINE_MAX];
    const char *const paths[] = {"/dev/null", "/proc/self/maps", "/", "/etc/passwd"};
    for (size_t index = 0; index < sizeof paths / sizeof paths[0]; index++) {
        uint32_t module = symbols_module(symbols, paths[index], NULL, 0);
        assert_int_equal(symbols_find(symbols, module, 1, frames), 1);
        assert_true(frames[0].is_offset);
        assert_string_not_equal(symbols_problem(symbols, module), "");
    }
    symbols_free(symbols);
}

static void expect_name(const char *symbol, const char *wanted)
{
    char *name = demangle_new(symbol);
    assert_string_equal(name, wanted);
    free(name);
}

static void test_demangle(void **state)
{
    (void)state;
    expect_name("main", "main");
    expect_name("", "");
    expect_name("_PyEval_EvalFrameDefault.cold", "_PyEval_EvalFrameDefault");
    expect_name("work.part.0.constprop.3", "work");
    expect_name("memcpy@@GLIBC_2.14", "memcpy");
    expect_name("helper/1", "helper");
    expect_name("a.b", "a.b");
    expect_name(".cold", ".cold");
    expect_name("_Zbroken", "_Zbroken");
    char *name = demangle_new("_ZN4name5thing4callEi.cold");
    if (strcmp(name, "_ZN4name5thing4callEi") != 0) /* built without libiberty */
        assert_string_equal(name, "name::thing::call(int)");
    free(name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inlined_frames), cmocka_unit_test(test_always_a_name),
        cmocka_unit_test(test_other_build),    cmocka_unit_test(test_not_elf),
        cmocka_unit_test(test_demangle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
