/* live: shares of the latest interval and times since the start, against counts made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/live.h"
#include "tests/live_sample.h"

#define RUNNING (SAMPLE_RUNNING | SAMPLE_GIL)
#define MS      UINT64_C(1000000)

static const struct live_row *row_of(const struct live *live, enum live_by by, uint32_t code, uint32_t line)
{
    const struct live_table *table = &live->tables[by];
    for (uint32_t i = 0; i < table->count; i++)
        if (table->rows[i].code == code && table->rows[i].line == line)
            return &table->rows[i];
    return NULL;
}

static void assert_row(const struct live *live, enum live_by by, uint32_t code, uint32_t line,
                       uint64_t own_ms, uint64_t total_ms, uint64_t all_own_ms, uint64_t all_total_ms)
{
    const struct live_row *row = row_of(live, by, code, line);
    assert_non_null(row);
    assert_int_equal(row->own_ns, own_ms * MS);
    assert_int_equal(row->total_ns, total_ms * MS);
    assert_int_equal(row->all_own_ns, all_own_ms * MS);
    assert_int_equal(row->all_total_ns, all_total_ms * MS);
}

/* Second 100: thread 1 is 60 % in line 4 and 40 % in the recursive stack. */
static void add_first_second(struct live *live, struct recording *recording)
{
    live_program(recording);
    live->start_ns = 100 * LIVE_SAMPLE_SECOND;
    live_samples(recording, 100, 60, 1, NODE_WORK, RUNNING);
    live_samples(recording, 100, 40, 1, NODE_EVAL + 1, RUNNING);
    assert_int_equal(live_add(live, recording, 101 * LIVE_SAMPLE_SECOND, NULL), 0);
    recording->samples_count = 0;
}

static void shares_and_times_are_right(void **state)
{
    (void)state;
    struct recording recording = {0};
    struct live live = {0};
    add_first_second(&live, &recording);
    /* Own time is the innermost frame's that is shown; work counts once though it stands twice in the stack. */
    assert_row(&live, LIVE_FUNCTIONS, LIVE_WORK, 0, 1000, 1000, 1000, 1000);
    assert_row(&live, LIVE_FUNCTIONS, LIVE_DEEP, 0, 0, 400, 0, 400);
    assert_row(&live, LIVE_FUNCTIONS, LIVE_MAIN, 0, 0, 1000, 0, 1000);
    assert_row(&live, LIVE_LINES, LIVE_WORK, 4, 1000, 1000, 1000, 1000);
    assert_row(&live, LIVE_LINES, LIVE_WORK, 5, 0, 400, 0, 400);
    assert_null(row_of(&live, LIVE_FUNCTIONS, LIVE_EVALUATOR, 0));
    live_samples(&recording, 101, 100, 1, NODE_DEEP, RUNNING);
    assert_int_equal(live_add(&live, &recording, 102 * LIVE_SAMPLE_SECOND, NULL), 0);
    assert_row(&live, LIVE_FUNCTIONS, LIVE_WORK, 0, 0, 1000, 1000, 2000);
    assert_row(&live, LIVE_FUNCTIONS, LIVE_DEEP, 0, 1000, 1000, 1000, 1400);
    assert_int_equal(live.samples, 200);
    live_clear(&live);
    recording_clear(&recording);
}

static void idle_threads_count_when_asked_for(void **state)
{
    (void)state;
    for (int idle = 0; idle < 2; idle++) {
        struct recording recording = {0};
        struct live live = {.selection = {.idle = idle}, .start_ns = 100 * LIVE_SAMPLE_SECOND};
        live_program(&recording);
        live_samples(&recording, 100, 100, 1, NODE_WORK, RUNNING);
        live_samples(&recording, 100, 100, 2, NODE_MAIN, 0);
        assert_int_equal(live_add(&live, &recording, 101 * LIVE_SAMPLE_SECOND, NULL), 0);
        assert_row(&live, LIVE_FUNCTIONS, LIVE_MAIN, 0, idle ? 1000 : 0, idle ? 2000 : 1000, idle ? 1000 : 0,
                   idle ? 2000 : 1000);
        uint32_t sleeping, threads = live_threads(&live, &sleeping);
        assert_int_equal(threads, 2);
        assert_int_equal(sleeping, 1);
        assert_int_equal(live.running_ns, LIVE_SAMPLE_SECOND);
        assert_int_equal(live.gil_ns, LIVE_SAMPLE_SECOND);
        live_clear(&live);
        recording_clear(&recording);
    }
}

static void only_the_holder_of_the_gil_when_asked_for(void **state)
{
    (void)state;
    struct recording recording = {0};
    struct live live = {.selection = {.gil = true}, .start_ns = 100 * LIVE_SAMPLE_SECOND};
    live_program(&recording);
    live_samples(&recording, 100, 100, 1, NODE_WORK, RUNNING);
    live_samples(&recording, 100, 100, 2, NODE_DEEP, SAMPLE_RUNNING);
    assert_int_equal(live_add(&live, &recording, 101 * LIVE_SAMPLE_SECOND, NULL), 0);
    assert_null(row_of(&live, LIVE_FUNCTIONS, LIVE_DEEP, 0));
    assert_row(&live, LIVE_FUNCTIONS, LIVE_WORK, 0, 1000, 1000, 1000, 1000);
    assert_int_equal(live.running_ns, 2 * LIVE_SAMPLE_SECOND);
    live_clear(&live);
    recording_clear(&recording);
}

/* 110 samples or 80 in a second at 100 Hz are chance: the thread was there for one second. */
static void chance_does_not_make_more_than_there_was(void **state)
{
    (void)state;
    const unsigned counts[] = {80, 110};
    for (size_t i = 0; i < 2; i++) {
        struct recording recording = {0};
        struct live live = {.start_ns = 100 * LIVE_SAMPLE_SECOND};
        live_program(&recording);
        live_samples(&recording, 100, counts[i], 1, NODE_WORK, RUNNING);
        assert_int_equal(live_add(&live, &recording, 101 * LIVE_SAMPLE_SECOND, NULL), 0);
        const struct live_row *row = row_of(&live, LIVE_FUNCTIONS, LIVE_WORK, 0);
        assert_in_range(row->own_ns, LIVE_SAMPLE_SECOND - 1000, LIVE_SAMPLE_SECOND + 1000);
        live_clear(&live);
        recording_clear(&recording);
    }
}

/* A thread that began in the middle is not stretched over the whole. */
static void a_young_thread_is_not_stretched(void **state)
{
    (void)state;
    struct recording recording = {0};
    struct live live = {.start_ns = 100 * LIVE_SAMPLE_SECOND};
    live_program(&recording);
    recording.threads[2].start_ns = 100 * LIVE_SAMPLE_SECOND + 700 * MS;
    live_samples(&recording, 100, 30, 2, NODE_WORK, RUNNING);
    assert_int_equal(live_add(&live, &recording, 101 * LIVE_SAMPLE_SECOND, NULL), 0);
    assert_row(&live, LIVE_FUNCTIONS, LIVE_WORK, 0, 300, 300, 300, 300);
    live_clear(&live);
    recording_clear(&recording);
}

static void the_last_minute_is_kept(void **state)
{
    (void)state;
    struct recording recording = {0};
    struct live live = {.start_ns = 100 * LIVE_SAMPLE_SECOND};
    live_program(&recording);
    for (uint64_t second = 100; second < 200; second++) {
        recording.samples_count = 0;
        live_samples(&recording, second, 100, 1, NODE_WORK, second % 2 ? RUNNING : SAMPLE_RUNNING);
        assert_int_equal(live_add(&live, &recording, (second + 1) * LIVE_SAMPLE_SECOND, NULL), 0);
    }
    for (unsigned ago = 0; ago < LIVE_SECONDS - 1; ago++) {
        assert_int_equal(live_second_ago(&live, ago).running_ns, LIVE_SAMPLE_SECOND);
        assert_int_equal(live_second_ago(&live, ago).gil_ns, ago % 2 ? 0 : LIVE_SAMPLE_SECOND);
    }
    assert_int_equal(live_second_ago(&live, LIVE_SECONDS).running_ns, 0);
    /* Ten seconds of nothing, and one row that stands for four seconds. */
    recording.samples_count = 0;
    struct sample_row row = {.time_ns = 205 * LIVE_SAMPLE_SECOND + 500 * MS,
                             .weight_ns = 4 * LIVE_SAMPLE_SECOND,
                             .thread = 2,
                             .node = NODE_WORK,
                             .count = 4,
                             .state = SAMPLE_RUNNING};
    recording_add_sample(&recording, &row);
    assert_int_equal(live_add(&live, &recording, 210 * LIVE_SAMPLE_SECOND, NULL), 0);
    const uint64_t expected_ms[] = {500, 1000, 1000, 1000, 500, 0, 0, 0, 0, 0};
    for (unsigned ago = 0; ago < 10; ago++)
        assert_int_equal(live_second_ago(&live, ago).running_ns, expected_ms[ago] * MS);
    assert_int_equal(live_second_ago(&live, 10).running_ns, LIVE_SAMPLE_SECOND);
    live_clear(&live);
    recording_clear(&recording);
}

static void reset_copy_and_whole(void **state)
{
    (void)state;
    struct recording recording = {0};
    struct live live = {0}, copy = {0};
    add_first_second(&live, &recording);
    assert_int_equal(live_copy(&live, &copy, NULL), 0);
    live_reset(&live);
    assert_int_equal(live.samples, 0);
    assert_row(&live, LIVE_FUNCTIONS, LIVE_WORK, 0, 0, 0, 0, 0);
    assert_row(&copy, LIVE_FUNCTIONS, LIVE_WORK, 0, 1000, 1000, 1000, 1000);
    live_samples(&recording, 101, 100, 1, NODE_DEEP, RUNNING);
    assert_int_equal(live_add(&live, &recording, 102 * LIVE_SAMPLE_SECOND, NULL), 0);
    live_samples(&recording, 102, 100, 1, NODE_WORK, RUNNING);
    memmove(recording.samples, recording.samples + 100, 100 * sizeof *recording.samples);
    recording.samples_count = 100;
    assert_int_equal(live_add(&live, &recording, 103 * LIVE_SAMPLE_SECOND, NULL), 0);
    assert_row(&live, LIVE_FUNCTIONS, LIVE_WORK, 0, 1000, 1000, 1000, 2000);
    live_take_all(&live);
    assert_int_equal(live.end_ns - live.begin_ns, 2 * LIVE_SAMPLE_SECOND);
    assert_row(&live, LIVE_FUNCTIONS, LIVE_WORK, 0, 1000, 2000, 1000, 2000);
    assert_row(&live, LIVE_FUNCTIONS, LIVE_DEEP, 0, 1000, 1000, 1000, 1000);
    live_clear(&live);
    live_clear(&copy);
    recording_clear(&recording);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_and_times_are_right),
        cmocka_unit_test(idle_threads_count_when_asked_for),
        cmocka_unit_test(only_the_holder_of_the_gil_when_asked_for),
        cmocka_unit_test(chance_does_not_make_more_than_there_was),
        cmocka_unit_test(a_young_thread_is_not_stretched),
        cmocka_unit_test(the_last_minute_is_kept),
        cmocka_unit_test(reset_copy_and_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
