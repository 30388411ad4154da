/*
 * store without memory: each allocation of writing and of reading fails in turn; every time the failure is
 * reported, nothing is leaked (the sanitizer build sees that) and nothing crashes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "store/compress.h"
#include "store/reader.h"
#include "tests/store_sample.h"

/* The linker sends allocations of the code under test here (--wrap). */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);

static size_t allocations_left = SIZE_MAX;
static bool has_failed;

static bool may_allocate(void)
{
    if (allocations_left == SIZE_MAX)
        return true;
    if (allocations_left > 0)
        return allocations_left--;
    return !(has_failed = true);
}

void *__wrap_malloc(size_t size)
{
    return may_allocate() ? __real_malloc(size) : NULL;
}

void *__wrap_calloc(size_t count, size_t size)
{
    return may_allocate() ? __real_calloc(count, size) : NULL;
}

void *__wrap_realloc(void *memory, size_t size)
{
    return may_allocate() ? __real_realloc(memory, size) : NULL;
}

/* Runs `work` with its first, second, third ... allocation failing, until none does. */
static void sweep(int (*work)(const struct bytes *, struct err *), const struct bytes *input)
{
    size_t failures = 0;
    for (size_t allowed = 0;; allowed++) {
        struct err err = {0};
        has_failed = false;
        allocations_left = allowed;
        int result = work(input, &err);
        allocations_left = SIZE_MAX;
        if (!has_failed) {
            assert_int_equal(result, 0);
            break;
        }
        assert_int_equal(result, -1);
        assert_true(err_is_set(&err));
        failures++;
    }
    assert_true(failures > 20);
}

static int read_sample(const struct bytes *file, struct err *err)
{
    struct recording recording = {0};
    int result = reader_read(file->data, file->size, "sample", &recording, err);
    recording_clear(&recording);
    return result;
}

static int write_sample(const struct bytes *unused, struct err *err)
{
    (void)unused;
    struct bytes file = {0};
    struct writer *writer =
        writer_new(&(struct writer_options){writer_sink_bytes, &file, compress_zstd}, err);
    if (writer)
        sample_write(writer);
    int result = writer ? writer_close(writer, err) : -1;
    bytes_clear(&file);
    return result;
}

static void reading_reports_every_failed_allocation(void **state)
{
    (void)state;
    struct bytes raw = sample_file(NULL);
    sweep(read_sample, &raw);
    bytes_clear(&raw);
    struct bytes packed = sample_file(compress_zstd);
    sweep(read_sample, &packed);
    bytes_clear(&packed);
}

static void writing_reports_every_failed_allocation(void **state)
{
    (void)state;
    sweep(write_sample, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reading_reports_every_failed_allocation),
        cmocka_unit_test(writing_reports_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
