/* series: counters over time, alone and added up; what no pixel may leave out; regions; mprof's .dat files in and out. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/region_order.h"
#include "analyse/regions.h"
#include "analyse/series.h"
#include "base/bytes.h"
#include "base/err.h"
#include "export/mprof_writer.h"
#include "export/stream.h"
#include "import/formats.h"
#include "import/mprof_reader.h"
#include "store/recording.h"

#define SECOND UINT64_C(1000000000)

static uint32_t add_counter(struct recording *recording, const char *name, const char *unit, uint8_t kind)
{
    const struct counter counter = {.name = strings_intern_text(&recording->strings, name),
                                    .unit = strings_intern_text(&recording->strings, unit),
                                    .kind = kind};
    uint32_t id = recording_add_counter(recording, &counter);
    assert_int_not_equal(id, 0);
    return id;
}

static void add_points(struct recording *recording, uint32_t counter, size_t count,
                       const int64_t (*points)[2])
{
    for (size_t i = 0; i < count; i++) {
        const struct series_row row = {(uint64_t)points[i][0], points[i][1], counter};
        assert_int_not_equal(recording_add_series(recording, &row), UINT32_MAX);
    }
}

static void a_level_holds_until_the_next_point(void **state)
{
    (void)state;
    struct recording recording = {0};
    assert_int_equal(recording_init(&recording, NULL), 0);
    uint32_t rss = add_counter(&recording, "rss", "bytes", COUNTER_LEVEL);
    add_points(&recording, rss, 4, (const int64_t[][2]){{100, 10}, {200, 40}, {201, 5}, {300, 20}});
    const struct series series = series_of(&recording, rss);
    const struct series_summary summary = series_summarise(&series);
    assert_int_equal(summary.points, 4);
    assert_true(summary.first == 10 && summary.last == 20 && summary.least == 5 && summary.most == 40);
    assert_int_equal(summary.most_ns, 200);
    assert_true(fabs(summary.mean - (100 * 10 + 1 * 40 + 99 * 5) / 200.0) < 1e-9);
    double least[4], most[4];
    series_columns(&series, 0, 400, 4, least, most);
    assert_true(isnan(least[0]) && isnan(most[0]));
    assert_true(least[1] == 10 && most[1] == 10);
    assert_true(least[2] == 5 && most[2] == 40); /* one nanosecond of 40 */
    assert_true(least[3] == 20 && most[3] == 20);
    recording_clear(&recording);
}

/* However narrow or wide a pixel is, the largest value of all points is the largest of all pixels. */
static void no_pixel_leaves_a_spike_out(void **state)
{
    (void)state;
    struct recording recording = {0};
    assert_int_equal(recording_init(&recording, NULL), 0);
    uint32_t rss = add_counter(&recording, "rss", "bytes", COUNTER_LEVEL);
    for (int64_t i = 0; i < 1000; i++)
        add_points(&recording, rss, 1,
                   (const int64_t[][2]){{i * 7 + i % 3, i == 617 ? 1000000 : i % 10 + 1}});
    const struct series series = series_of(&recording, rss);
    for (uint32_t columns = 1; columns < 3000; columns += 37) {
        double least[3000], most[3000], highest = 0, lowest = INFINITY;
        series_columns(&series, 0, 7001, columns, least, most);
        for (uint32_t i = 0; i < columns; i++) {
            highest = fmax(highest, most[i]);
            lowest = fmin(lowest, least[i]);
        }
        assert_true(highest == 1000000 && lowest == 1);
    }
    recording_clear(&recording);
}

static void a_sum_is_shown_as_its_rate(void **state)
{
    (void)state;
    struct recording recording = {0};
    assert_int_equal(recording_init(&recording, NULL), 0);
    uint32_t cpu = add_counter(&recording, "cpu", "ns", COUNTER_SUM);
    uint32_t sent = add_counter(&recording, "sent", "bytes", COUNTER_SUM);
    add_points(&recording, cpu, 3, (const int64_t[][2]){{1000, 500}, {2000, 2500}, {4000, 2500}});
    add_points(&recording, sent, 2, (const int64_t[][2]){{0, 0}, {2 * SECOND, 300}});
    const struct series series = series_of(&recording, cpu), bytes = series_of(&recording, sent);
    const struct series_summary summary = series_summarise(&series);
    assert_true(summary.most == 2 && summary.least == 0 && summary.most_ns == 1000);
    assert_true(fabs(summary.mean - 2000.0 / 3000) < 1e-9);
    assert_true(fabs(series_summarise(&bytes).most - 150) < 1e-9); /* for a second */
    double least[3], most[3];
    series_columns(&series, 1000, 4000, 3, least, most);
    assert_true(most[0] == 2 && least[1] == 0 && most[1] == 0 && most[2] == 0);
    recording_clear(&recording);
}

/* Two processes beside each other, one after the other: what has ended has nothing. */
static void levels_of_processes_are_added_while_they_run(void **state)
{
    (void)state;
    struct recording recording = {0};
    struct series_row *rows;
    struct series sum;
    assert_int_equal(recording_init(&recording, NULL), 0);
    uint32_t first = add_counter(&recording, "rss", "bytes", COUNTER_LEVEL);
    uint32_t cpu = add_counter(&recording, "cpu", "ns", COUNTER_SUM);
    uint32_t second = add_counter(&recording, "rss", "bytes", COUNTER_LEVEL);
    add_points(&recording, first, 3, (const int64_t[][2]){{0, 10}, {10, 30}, {20, 20}});
    add_points(&recording, cpu, 2, (const int64_t[][2]){{0, 5}, {20, 25}});
    add_points(&recording, second, 3, (const int64_t[][2]){{15, 100}, {55, 50}, {95, 60}});
    assert_int_equal(series_sum(&recording, "rss", &rows, &sum, NULL), 0);
    const int64_t expected[][2] = {{0, 10}, {10, 30}, {15, 130}, {20, 120}, {31, 100}, {55, 50}, {95, 60}};
    assert_int_equal(sum.count, 7);
    for (uint32_t i = 0; i < 7; i++)
        assert_true((int64_t)sum.rows[i].time_ns == expected[i][0] && sum.rows[i].value == expected[i][1]);
    assert_true(series_summarise(&sum).most == 130 && series_summarise(&sum).last == 60);
    free(rows);
    assert_int_equal(series_sum(&recording, "nothing", &rows, &sum, NULL), 0);
    assert_int_equal(sum.count, 0);
    free(rows);
    recording_clear(&recording);
}

/* Looked at a microsecond after each other: what two processes did in a second is not done in that microsecond. */
static void sums_of_processes_are_added_as_rates(void **state)
{
    (void)state;
    struct recording recording = {0};
    struct series_row *rows;
    struct series sum;
    assert_int_equal(recording_init(&recording, NULL), 0);
    uint32_t first = add_counter(&recording, "cpu", "ns", COUNTER_SUM);
    uint32_t second = add_counter(&recording, "cpu", "ns", COUNTER_SUM);
    for (int64_t i = 0; i <= 10; i++)
        add_points(&recording, first, 1, (const int64_t[][2]){{i * SECOND, i * SECOND / 2}});
    for (int64_t i = 5; i <= 10; i++)
        add_points(&recording, second, 1, (const int64_t[][2]){{i * SECOND + 1000, (i - 1) * SECOND}});
    assert_int_equal(series_sum(&recording, "cpu", &rows, &sum, NULL), 0);
    const struct series_summary summary = series_summarise(&sum);
    assert_true(fabs(summary.most - 1.5) < 1e-4 && fabs(summary.least - 0.5) < 1e-4);
    assert_true(fabs(summary.mean - 1.0) < 1e-4);
    free(rows);
    recording_clear(&recording);
}

static const char mprof[] = "CMDLINE /usr/bin/python x.py a b\n"
                            "MEM 1.500000 1700000000.1000\n"
                            "FUNC main.outer 1.5 1700000000.1 8.25 1700000000.9 0\n"
                            "MEM 7.250000 1700000000.2000\r\n"
                            "CHLD 4711 3.000000 1700000000.2500\n"
                            "FUNC main.inner 2.0 1700000000.2 4.0 1700000000.4 1\n"
                            "FUNC main.outer 3.0 1700000000.2 3.5 1700000000.3 1\n"
                            "FUNC main.other 2.0 1700000000.3 9.0 1700000000.6 1\n"
                            "\n"
                            "MEM 10.000000 1700000000.3000\n"
                            "CHLD 4711 4.000000 1700000000.3500\n"
                            "LATER what nobody knows yet\n"
                            "MEM 8.1 not-a-time\n"
                            "MEM -1.0 1700000000.4\n"
                            "FUNC main.back 1 1700000000.5 1 1700000000.4\n"
                            "MEM 8";

static void mprof_files_are_read(void **state)
{
    (void)state;
    struct recording recording = {0};
    struct err err = {0};
    assert_true(mprof_reader_recognises(mprof, sizeof mprof - 1));
    assert_string_equal(formats_find(mprof, sizeof mprof - 1)->name, "mprof");
    assert_int_equal(mprof_reader_read(mprof, sizeof mprof - 1, "x.dat", &recording, &err), 0);
    assert_string_equal(recording_meta(&recording, "command"), "/usr/bin/python x.py a b");
    assert_string_equal(recording_meta(&recording, "epoch_ns"), "1700000000100000000");
    const struct series main = series_of(&recording, 1), child = series_of(&recording, 2);
    assert_true(main.count == 3 && child.count == 2);
    assert_true(main.rows[0].time_ns == 0 && main.rows[2].time_ns == 200000000);
    assert_true(main.rows[1].value == 7602176 && child.rows[1].value == 4194304);
    assert_int_equal(recording.processes[recording.counters[2].process].pid, 4711);
    assert_int_equal(recording.notes[0].count, 4); /* lines that make no sense */
    assert_true(series_is_all(&recording));
    recording_clear(&recording);
}

/* What overlaps lies in another thread; a function inside itself counts its time once. */
static void functions_of_mprof_are_regions(void **state)
{
    (void)state;
    struct recording recording = {0};
    struct regions regions;
    assert_int_equal(mprof_reader_read(mprof, sizeof mprof - 1, "x.dat", &recording, NULL), 0);
    assert_int_equal(recording.threads_count, 3);
    assert_int_equal(recording.region_events_count, 8);
    assert_int_equal(regions_build(&recording, NULL, &regions, NULL), 0);
    assert_int_equal(regions.count, 3);
    const struct regions_row *outer = &regions.rows[0], *other = &regions.rows[1];
    assert_string_equal(recording_text(&recording, recording.regions[outer->region].name), "main.outer");
    assert_true(outer->count == 2 && outer->total_ns == 800000000);
    assert_true(outer->lengths_ns == outer->least_ns + outer->most_ns);
    assert_int_equal(outer->growth, (int64_t)(6.75 * 1048576));
    assert_int_equal(outer->most, (int64_t)(8.25 * 1048576));
    assert_string_equal(recording_text(&recording, recording.regions[other->region].name), "main.other");
    assert_int_equal(other->most, 9 << 20);
    regions_clear(&regions);
    recording_clear(&recording);
}

static void add_event(struct recording *recording, uint64_t time_ns, uint32_t thread, uint32_t region)
{
    recording_add_region_event(
        recording, &(struct region_event_row){.time_ns = time_ns, .thread = thread, .region = region});
}

static void add_regions(struct recording *recording, uint32_t count)
{
    for (uint32_t i = 0; i <= count; i++)
        recording_add_region(recording, &(struct region){.name = i});
}

/* Thread 2: 1 from 100 to 200 with 2 inside, then 2 alone, which does not end; thread 1 is another's. */
static void regions_lie_below_those_that_they_are_in(void **state)
{
    (void)state;
    struct recording recording = {0};
    struct time_order order;
    add_regions(&recording, 3);
    add_event(&recording, 50, 1, 1);
    add_event(&recording, 100, 2, 1);
    add_event(&recording, 120, 2, 2);
    add_event(&recording, 150, 2, 0);
    add_event(&recording, 200, 2, 0);
    add_event(&recording, 300, 2, 2);
    assert_int_equal(region_order_build(&recording, 2, 0, 1000, 1000, &order, NULL), 0);
    const struct time_order_row expected[] = {{100, 200, 1, 0}, {300, 1000, 2, 0}, {120, 150, 2, 1}};
    assert_int_equal(order.count, 3);
    assert_int_equal(order.levels, 2);
    assert_memory_equal(order.rows, expected, sizeof expected);
    time_order_clear(&order);
    assert_int_equal(region_order_build(&recording, 2, 160, 250, 90, &order, NULL), 0);
    assert_int_equal(order.count, 1); /* of a window what lies in it */
    assert_int_equal(order.rows[0].start_ns, 100);
    time_order_clear(&order);
    assert_true(region_order_has(&recording, 1) && region_order_has(&recording, 2));
    assert_false(region_order_has(&recording, 3));
    recording_clear(&recording);
}

static void add_end(struct recording *recording, uint64_t time_ns, uint32_t ends, uint32_t back)
{
    recording_add_region_event(
        recording, &(struct region_event_row){.time_ns = time_ns, .thread = 1, .ends = ends, .back = back});
}

/* Two tasks are in 1 and end in the order in which they began; what ends and never began ends nothing. */
static void regions_of_tasks_end_out_of_turn(void **state)
{
    (void)state;
    struct recording recording = {0};
    struct time_order order;
    add_regions(&recording, 3);
    add_event(&recording, 100, 1, 1);
    add_event(&recording, 200, 1, 1);
    add_event(&recording, 250, 1, 2);
    add_end(&recording, 300, 1, 1);
    add_end(&recording, 350, 3, 0);
    add_end(&recording, 360, 1, 1);
    add_end(&recording, 400, 1, 0);
    add_end(&recording, 500, 2, 0);
    assert_int_equal(region_order_build(&recording, 1, 0, 1000, 1000, &order, NULL), 0);
    const struct time_order_row expected[] = {{100, 300, 1, 0}, {200, 400, 1, 1}, {250, 500, 2, 2}};
    assert_int_equal(order.count, 3);
    assert_memory_equal(order.rows, expected, sizeof expected);
    time_order_clear(&order);
    recording_clear(&recording);
}

/* Two tasks: 1 from 0 to 30, 2 from 10 to 50; 1 inside itself from 60 to 90, and 2 is never left. */
static void regions_are_added_up(void **state)
{
    (void)state;
    struct recording recording = {0};
    struct regions regions;
    assert_int_equal(recording_init(&recording, NULL), 0);
    for (uint32_t i = 1; i <= 2; i++)
        recording_add_region(&recording, &(struct region){.name = strings_intern_text(&recording.strings,
                                                                                      i == 1 ? "a" : "b")});
    add_event(&recording, 0, 1, 1);
    add_event(&recording, 10, 1, 2);
    add_end(&recording, 30, 1, 0);
    add_end(&recording, 50, 2, 0);
    add_event(&recording, 60, 1, 1);
    add_event(&recording, 70, 1, 1);
    add_end(&recording, 75, 0, 0);
    add_end(&recording, 90, 1, 0);
    add_event(&recording, 96, 1, 2);
    add_end(&recording, 100, 1, 0);
    assert_int_equal(regions_build(&recording, NULL, &regions, NULL), 0);
    assert_int_equal(regions.count, 2);
    const struct regions_row first = {.region = 1,
                                      .count = 3,
                                      .total_ns = 60,
                                      .lengths_ns = 65,
                                      .self_ns = 40,
                                      .least_ns = 5,
                                      .most_ns = 30};
    const struct regions_row second = {.region = 2,
                                       .count = 2,
                                       .open = 1,
                                       .total_ns = 44,
                                       .lengths_ns = 44,
                                       .self_ns = 44,
                                       .least_ns = 4,
                                       .most_ns = 40};
    assert_memory_equal(&regions.rows[0], &first, sizeof first);
    assert_memory_equal(&regions.rows[1], &second, sizeof second);
    regions_clear(&regions);
    recording_clear(&recording);
}

/* Doubles, of two processes at the same time, beside a counter of the same name that is none. */
static void what_a_program_counts_may_be_a_fraction(void **state)
{
    (void)state;
    struct recording recording = {0};
    struct series_row *rows;
    struct series series;
    assert_int_equal(recording_init(&recording, NULL), 0);
    uint32_t name = strings_intern_text(&recording.strings, "residual");
    for (uint32_t i = 0; i < 3; i++)
        recording_add_counter(&recording,
                              &(struct counter){.name = name, .kind = i < 2 ? COUNTER_REAL : COUNTER_LEVEL});
    recording_add_series(&recording, &(struct series_row){100, recording_real_bits(0.25), 1});
    recording_add_series(&recording, &(struct series_row){300, recording_real_bits(-1e-9), 1});
    recording_add_series(&recording, &(struct series_row){200, recording_real_bits(0.5), 2});
    recording_add_series(&recording, &(struct series_row){200, 77, 3});
    series = series_of(&recording, 1);
    assert_true(series_summarise(&series).least == -1e-9 && series_summarise(&series).most == 0.25);
    assert_int_equal(series_sum(&recording, "residual", &rows, &series, NULL), 0);
    assert_true(series_summarise(&series).most == 0.75);
    free(rows);
    assert_null(series_memory_name(&recording));
    recording_clear(&recording);
}

/* A thousand of 1 ns in 10 columns, one of them longer and of another name: few rectangles, none dropped. */
static void regions_thinner_than_a_pixel_are_drawn_together(void **state)
{
    (void)state;
    struct recording recording = {0};
    struct time_order order;
    add_regions(&recording, 3);
    for (uint64_t i = 0; i < 1000; i++) {
        add_event(&recording, i * 10, 1, i == 500 ? 2 : 1);
        add_event(&recording, i * 10 + (i == 500 ? 5 : 1), 1, 0);
    }
    assert_int_equal(region_order_build(&recording, 1, 0, 10000, 10, &order, NULL), 0);
    assert_int_equal(order.count, 1);
    assert_int_equal(order.rows[0].start_ns, 0);
    assert_int_equal(order.rows[0].end_ns, 9991);
    assert_int_equal(order.rows[0].code, 2);
    time_order_clear(&order);
    assert_int_equal(region_order_build(&recording, 1, 0, 10000, 10000, &order, NULL), 0);
    assert_int_equal(order.count, 1000);
    time_order_clear(&order);
    recording_clear(&recording);
}

static void mprof_files_come_back_as_they_were(void **state)
{
    (void)state;
    struct recording recording = {0}, again = {0};
    struct stream stream = {0};
    assert_int_equal(mprof_reader_read(mprof, sizeof mprof - 1, "x.dat", &recording, NULL), 0);
    assert_int_equal(mprof_writer_write(&recording, "x", &stream, NULL), 0);
    assert_int_equal(mprof_reader_read(stream.out.data, stream.out.size, "y.dat", &again, NULL), 0);
    assert_int_equal(again.notes_count, 0);
    assert_int_equal(again.series_count, recording.series_count);
    for (uint32_t i = 0; i < again.series_count; i++)
        assert_true(again.series[i].time_ns == recording.series[i].time_ns &&
                    again.series[i].value == recording.series[i].value &&
                    again.series[i].counter == recording.series[i].counter);
    assert_int_equal(again.region_events_count, recording.region_events_count);
    bytes_put_u8(&stream.out, 0);
    assert_non_null(
        strstr((char *)stream.out.data, "\nFUNC main.inner 2.0000 1700000000.2000 4.0000 1700000000.4000 "));
    assert_non_null(strstr((char *)stream.out.data, "\nCHLD 4711 4.000000 1700000000.3500\n"));
    stream_clear(&stream);
    recording_clear(&again);
    recording_clear(&recording);
}

static void what_is_no_mprof_file_is_not_taken_for_one(void **state)
{
    (void)state;
    static const char *const others[] = {
        "",           "MEM",          "MEM x 1",        "MEM 1 2 3\n",
        "MEMORY 1 2", "main;work 12", "CMDLINE",        "FUNC f 1 2 3\n",
        "CHLD 1 2",   "MEM 1 1e9",    "MEM 1 -5.0\n{}", "MEM 1 99999999999999999999"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(mprof_reader_recognises(others[i], strlen(others[i])));
    struct recording recording = {0};
    struct stream stream = {0};
    struct err err = {0};
    assert_int_equal(recording_init(&recording, NULL), 0);
    assert_int_equal(mprof_writer_write(&recording, "x.sonde", &stream, &err), -1);
    assert_non_null(strstr(err.text, "x.sonde holds no memory over time"));
    recording_clear(&recording);
    stream_clear(&stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_level_holds_until_the_next_point),
        cmocka_unit_test(no_pixel_leaves_a_spike_out),
        cmocka_unit_test(a_sum_is_shown_as_its_rate),
        cmocka_unit_test(levels_of_processes_are_added_while_they_run),
        cmocka_unit_test(sums_of_processes_are_added_as_rates),
        cmocka_unit_test(mprof_files_are_read),
        cmocka_unit_test(functions_of_mprof_are_regions),
        cmocka_unit_test(regions_lie_below_those_that_they_are_in),
        cmocka_unit_test(regions_of_tasks_end_out_of_turn),
        cmocka_unit_test(regions_are_added_up),
        cmocka_unit_test(what_a_program_counts_may_be_a_fraction),
        cmocka_unit_test(regions_thinner_than_a_pixel_are_drawn_together),
        cmocka_unit_test(mprof_files_come_back_as_they_were),
        cmocka_unit_test(what_is_no_mprof_file_is_not_taken_for_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
