/* store: what is written is read back, whole files and damaged ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "store/compress.h"
#include "store/reader.h"
#include "store/recording.h"
#include "store/writer.h"
#include "tests/store_sample.h"

static void assert_sample(const struct recording *recording)
{
    assert_int_equal(recording->codes_count, 3);
    assert_int_equal(recording->nodes_count, 3);
    assert_int_equal(recording->processes_count, 3);
    assert_int_equal(recording->threads_count, 3);
    assert_string_equal(recording_text(recording, recording->codes[1].name), "main");
    assert_int_equal(recording->codes[1].line, 3);
    assert_int_equal(recording->codes[2].flags, CODE_THROTTLED);
    assert_int_equal(recording->nodes[2].parent, 1);
    assert_int_equal(recording->nodes[2].code, 2);
    assert_int_equal(recording->nodes[2].line, 7);
    assert_int_equal(recording->processes[1].exit_code, -9);
    assert_int_equal(recording->processes[1].end_ns, 77);
    assert_int_equal(recording->processes[1].rank, UINT32_MAX);
    assert_int_equal(recording->processes[2].exit_code, 0);
    assert_int_equal(recording->processes[2].rank, 3);
    assert_int_equal(recording->processes[2].parent, 1);
    assert_string_equal(recording_text(recording, recording->threads[2].name), "pool");
    assert_int_equal(recording->calls_count, 3);
    assert_int_equal(recording->calls[1].calls, 15);
    assert_true(recording->calls[1].self_ns == (UINT64_C(1) << 40) + 50);
    assert_int_equal(recording->calls[2].thread, 2);
    assert_int_equal(recording->functions[0].total_ns, 900);
    assert_int_equal(recording->edges[0].callee, 2);
    assert_int_equal(recording->notes[0].count, 9);
    assert_string_equal(recording_meta(recording, "mode"), "trace");
    assert_true(recording->damage.complete);
    assert_int_equal(recording->damage.damaged_chunks, 0);
    assert_int_equal(recording->damage.skipped_bytes, 0);
}

static void round_trip(writer_compress *compress)
{
    struct bytes file = sample_file(compress);
    struct recording recording = {0};
    struct err err = {0};
    assert_true(reader_recognises(file.data, 8));
    assert_int_equal(reader_read(file.data, file.size, "sample", &recording, &err), 0);
    assert_sample(&recording);
    recording_clear(&recording);
    bytes_clear(&file);
}

static void raw_files_round_trip(void **state)
{
    (void)state;
    round_trip(NULL);
}

static void compressed_files_round_trip(void **state)
{
    (void)state;
    round_trip(compress_zstd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(raw_files_round_trip),
        cmocka_unit_test(compressed_files_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
