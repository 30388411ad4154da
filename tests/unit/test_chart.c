/* Charts: axes, slopes, curves cut and thinned, regions, and the sheet that they are laid out on. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/axis.h"
#include "analyse/chart.h"
#include "analyse/trend.h"
#include "base/bytes.h"
#include "base/err.h"
#include "export/chart_sheet.h"
#include "export/letters.h"
#include "export/pdf_writer.h"
#include "export/png_writer.h"
#include "export/raster.h"
#include "export/sheet.h"
#include "export/svg_writer.h"
#include "store/recording.h"

#define SECOND_NS UINT64_C(1000000000)
#define MIB       1048576.0

/* ---- axes ---- */

static void marks_are(const struct axis *axis, const char *expected)
{
    struct bytes text = {0};
    for (unsigned i = 0; i < axis_count(axis); i++)
        bytes_putf(&text, "%s%s", i ? "|" : "", axis_text(axis, axis_first(axis) + i * axis->step).text);
    bytes_put_u8(&text, 0);
    assert_string_equal(text.data, expected);
    bytes_clear(&text);
}

static void test_marks_are_round(void **state)
{
    static const struct {
        enum axis_kind kind;
        double low, high;
        unsigned marks;
        const char *expected;
    } rows[] = {
        {AXIS_BYTES, 0, 812 * MIB, 6, "0 MiB|200 MiB|400 MiB|600 MiB|800 MiB"},
        {AXIS_BYTES, 0, 1.7 * 1024 * MIB, 5, "0 GiB|0.5 GiB|1.0 GiB|1.5 GiB"},
        {AXIS_BYTES, 0, 3, 6, "0 B|1 B|2 B|3 B"},
        {AXIS_BYTES, -5 * MIB, 5 * MIB, 4, "-5 MiB|0 MiB|5 MiB"},
        {AXIS_BYTES, 0, 0x1p63, 5, "0 EiB|2 EiB|4 EiB|6 EiB|8 EiB"},
        {AXIS_SECONDS, 0, 60, 7, "0 s|10 s|20 s|30 s|40 s|50 s|60 s"},
        {AXIS_SECONDS, 0, 150, 6, "0 s|50 s|100 s|150 s"},
        {AXIS_SECONDS, 0, 1000, 6, "0 min|5 min|10 min|15 min"},
        {AXIS_SECONDS, 0, 7200, 5, "0 min|30 min|60 min|90 min|120 min"},
        {AXIS_SECONDS, 0, 5 * 86400, 5, "0 d|1 d|2 d|3 d|4 d|5 d"},
        {AXIS_SECONDS, 100, 100.4, 5, "100.0 s|100.1 s|100.2 s|100.3 s|100.4 s"},
        {AXIS_SECONDS, 0, 0.0004, 4, "0 µs|100 µs|200 µs|300 µs|400 µs"},
        {AXIS_NUMBER, 0, 1.9, 5, "0|0.5|1.0|1.5"},
        {AXIS_NUMBER, 0, 4.2e6, 5, "0 M|1 M|2 M|3 M|4 M"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct axis axis;
        axis_make(&axis, rows[i].kind, rows[i].low, rows[i].high, rows[i].marks);
        marks_are(&axis, rows[i].expected);
    }
}

/* Whatever the range, marks are few, lie inside and differ. */
static void test_marks_of_any_range(void **state)
{
    static const double ends[] = {-9.3e18, -1e9, -1, -1e-9, 0,    1e-12, 1e-9,
                                  0.1,     1,    59, 61,    3599, 1e6,   9.3e18};
    size_t count = sizeof ends / sizeof *ends;
    (void)state;
    for (size_t i = 0; i < count * count * 3; i++) {
        double low = ends[i % count], high = ends[i / count % count];
        struct axis axis;
        axis_make(&axis, (enum axis_kind)(i / count / count), low, high < low ? low : high, 6);
        assert_true(axis.low < axis.high && axis.step > 0);
        assert_in_range(axis_count(&axis), 0, 7);
        axis_make_wide(&axis, axis.kind, low, high < low ? low : high, 6);
        assert_in_range(axis_count(&axis), 2, 9);
        double rounding = 1e-8 * (fabs(axis.low) + fabs(axis.high));
        assert_true(axis.low <= low + rounding && axis.high >= high - rounding);
    }
}

static void test_values_have_their_own_unit(void **state)
{
    (void)state;
    assert_string_equal(axis_value_text(AXIS_BYTES, 812 * MIB).text, "812 MiB");
    assert_string_equal(axis_value_text(AXIS_SECONDS, 0).text, "0 s");
    assert_string_equal(axis_value_text(AXIS_SECONDS, 3.21).text, "3.21 s");
    assert_string_equal(axis_value_text(AXIS_NUMBER, 1.9).text, "1.90");
    assert_string_equal(axis_value_text(AXIS_NUMBER, -0.00234).text, "-0.0023");
    assert_string_equal(axis_value_text(AXIS_NUMBER, -12345).text, "-12.3 k");
}

/* ---- slopes ---- */

static double noise(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return (*seed >> 8) / 16777216.0 - 0.5;
}

static struct trend fit(struct chart_point *points, uint32_t count)
{
    struct err err = {0};
    struct trend trend;
    assert_int_equal(trend_fit(points, count, &trend, &err), 0);
    return trend;
}

static void test_slope_of_a_line(void **state)
{
    struct chart_point points[1000];
    (void)state;
    for (int i = 0; i < 1000; i++)
        points[i] = (struct chart_point){i * 0.1, 50 + i * 0.3};
    struct trend trend = fit(points, 1000);
    assert_true(trend.found);
    assert_float_equal(trend.per_second, 3, 1e-9);
    assert_float_equal(trend.low, 3, 1e-9);
    assert_float_equal(trend.high, 3, 1e-9);
    assert_float_equal(trend.from_value, 50, 1e-6);
    assert_float_equal(trend.to_value, 349.7, 1e-6);
}

/* A fifth of the time goes up steeply, and there is a peak: neither is a leak. */
static void test_a_start_that_climbs_is_no_leak(void **state)
{
    struct chart_point points[2000];
    uint32_t seed = 1;
    (void)state;
    for (int i = 0; i < 2000; i++)
        points[i] = (struct chart_point){i * 0.1, fmin(i, 400) + noise(&seed) + (i == 900 ? 5000 : 0)};
    struct trend trend = fit(points, 2000);
    assert_true(fabs(trend.per_second) < 0.02);
    assert_true(trend.low <= 0.01 && trend.high >= -0.01);
}

/* Of 200 curves without drift about 1 in 20 may pass for leaks, whether values depend on those before or not. */
static void test_the_interval_holds(void **state)
{
    struct chart_point walk[500], independent[500];
    uint32_t seed = 7, walks = 0, others = 0;
    (void)state;
    for (int turn = 0; turn < 200; turn++) {
        double at = 0;
        for (int i = 0; i < 500; i++) {
            walk[i] = (struct chart_point){i, at = 0.8 * at + noise(&seed)};
            independent[i] = (struct chart_point){i, 2 * i + noise(&seed)};
        }
        struct trend one = fit(walk, 500), other = fit(independent, 500);
        walks += one.low > 0 || one.high < 0;
        others += other.low > 2 || other.high < 2;
    }
    assert_in_range(walks, 1, 20);
    assert_in_range(others, 1, 20);
}

static void test_too_few_points_have_no_slope(void **state)
{
    struct chart_point points[] = {{0, 1}, {1, 2}, {1, 3}, {1, 4}, {2, 5}};
    (void)state;
    assert_false(fit(points, 0).found);
    assert_false(fit(points, 2).found);
    assert_false(fit(points + 1, 3).found); /* all at one time */
    assert_false(fit(points, 4).found);     /* at two times */
    assert_true(fit(points, 5).found);
}

/* ---- recordings ---- */

static uint32_t text(struct recording *recording, const char *words)
{
    return strings_intern_text(&recording->strings, words);
}

static uint32_t add_counter(struct recording *recording, uint64_t pid, const char *name, const char *unit,
                            uint8_t kind)
{
    struct process process = {.pid = pid,
                              .rank = UINT32_MAX,
                              .command = text(recording, "/usr/bin/python ./x.py"),
                              .exit_code = INT32_MIN};
    uint32_t id = 1;
    while (id < recording->processes_count && recording->processes[id].pid != pid)
        id++;
    if (id >= recording->processes_count)
        id = recording_add_process(recording, &process);
    return recording_add_counter(recording, &(struct counter){.name = text(recording, name),
                                                              .unit = text(recording, unit),
                                                              .process = id,
                                                              .kind = kind});
}

static void add_value(struct recording *recording, uint32_t counter, double time_s, int64_t value)
{
    const struct series_row row = {
        .time_ns = 5 * SECOND_NS + (uint64_t)(time_s * 1e9), .value = value, .counter = counter};
    assert_int_not_equal(recording_add_series(recording, &row), UINT32_MAX);
}

static void start(struct recording *recording)
{
    struct err err = {0};
    *recording = (struct recording){0};
    assert_int_equal(recording_init(recording, &err), 0);
}

static struct chart finish(struct recording *recording, const struct chart_options *options)
{
    struct chart chart = {0};
    struct err err = {0};
    assert_int_equal(chart_add(&chart, recording, "runs/x.sonde", options, &err), 0);
    assert_int_equal(chart_finish(&chart, options, 8, &err), 0);
    recording_clear(recording);
    return chart;
}

static void test_sums_are_rates(void **state)
{
    struct recording recording;
    struct chart_options options = {.to_s = INFINITY};
    (void)state;
    start(&recording);
    uint32_t cpu = add_counter(&recording, 7, "cpu", "ns", COUNTER_SUM);
    add_value(&recording, cpu, 0, 100);
    add_value(&recording, cpu, 1, 100 + 1500000000);
    add_value(&recording, cpu, 3, 100 + 2000000000);
    add_value(&recording, cpu, 4, 50); /* set back: not known */
    add_value(&recording, cpu, 5, 50);
    struct chart chart = finish(&recording, &options);
    const struct chart_curve *curve = &chart.curves[0];
    static const struct chart_point expected[] = {{0, 1.5}, {1, 1.5}, {1, 0.25}, {3, 0.25}, {4, 0}, {5, 0}};
    assert_int_equal(curve->count, 6);
    for (uint32_t i = 0; i < 6; i++) {
        assert_float_equal(curve->points[i].time_s, expected[i].time_s, 1e-9);
        assert_float_equal(curve->points[i].value, expected[i].value, 1e-9);
    }
    assert_string_equal(chart.panels[0].title, "CPU cores in use");
    chart_clear(&chart);
}

static void test_counters_are_chosen(void **state)
{
    static const char *const names[] = {"cpu", "rss"}, *const other[] = {"disk"};
    struct recording recording;
    struct chart chart = {0};
    struct err err = {0};
    (void)state;
    start(&recording);
    uint32_t ids[] = {add_counter(&recording, 7, "cpu", "ns", COUNTER_SUM),
                      add_counter(&recording, 7, "heap", "bytes", COUNTER_LEVEL),
                      add_counter(&recording, 8, "rss", "bytes", COUNTER_LEVEL),
                      add_counter(&recording, 8, "empty", "bytes", COUNTER_LEVEL)};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            add_value(&recording, ids[i], j, j);
    assert_int_equal(chart_add(&chart, &recording, "a", &(struct chart_options){.to_s = INFINITY}, &err), 0);
    assert_int_equal(chart.curve_count, 2);
    assert_string_equal(chart.curves[1].counter, "rss");
    chart_clear(&chart);
    assert_int_equal(chart_add(&chart, &recording, "a",
                               &(struct chart_options){.counters = other, .counter_count = 1}, &err),
                     -1);
    assert_string_equal(err.text, "a has no values of that counter; it counts: cpu, heap, rss, empty");
    chart_clear(&chart);
    chart =
        finish(&recording, &(struct chart_options){.counters = names, .counter_count = 2, .to_s = INFINITY});
    assert_int_equal(chart.panel_count, 2);
    assert_string_equal(chart.curves[0].label, "7 python x.py, CPU");
    assert_string_equal(chart.curves[1].label, "8 python x.py, resident (RSS)");
    chart_clear(&chart);
}

static void test_the_window_cuts(void **state)
{
    struct recording recording;
    struct chart_options options = {.from_s = 1.5, .to_s = 3.25, .slope = true};
    (void)state;
    start(&recording);
    uint32_t rss = add_counter(&recording, 7, "rss", "bytes", COUNTER_LEVEL);
    for (int i = 0; i < 10; i++)
        add_value(&recording, rss, i, i * 1000);
    struct chart chart = finish(&recording, &options);
    const struct chart_curve *curve = &chart.curves[0];
    assert_int_equal(curve->count, 4);
    assert_float_equal(curve->points[0].time_s, 1.5, 1e-9);
    assert_float_equal(curve->points[0].value, 1500, 1e-6);
    assert_float_equal(curve->points[3].value, 3250, 1e-6);
    assert_float_equal(curve->peak.value, 3000, 0); /* 3250 was never measured */
    assert_float_equal(curve->trend.per_second, 1000, 1e-6);
    assert_string_equal(curve->label, "resident (RSS)");
    chart_clear(&chart);
}

static void test_thinning_keeps_every_peak(void **state)
{
    struct recording recording;
    struct err err = {0};
    uint32_t count;
    (void)state;
    start(&recording);
    uint32_t rss = add_counter(&recording, 7, "rss", "bytes", COUNTER_LEVEL);
    for (int i = 0; i < 100000; i++)
        add_value(&recording, rss, i * 0.01, i == 31234 ? 9000 : i == 70001 ? -9000 : i % 10);
    struct chart chart = finish(&recording, &(struct chart_options){.to_s = INFINITY});
    struct chart_point *thin = chart_thin(&chart, &chart.curves[0], 100, &count, &err);
    double low = 0, high = 0;
    assert_in_range(count, 200, 404);
    for (uint32_t i = 0; i < count; i++) {
        low = fmin(low, thin[i].value);
        high = fmax(high, thin[i].value);
        assert_true(i == 0 || thin[i].time_s >= thin[i - 1].time_s);
    }
    assert_float_equal(low, -9000, 0);
    assert_float_equal(high, 9000, 0);
    free(thin);
    chart_clear(&chart);
}

/* More than can be named: the highest come first. */
static void test_many_curves(void **state)
{
    struct recording recording;
    (void)state;
    start(&recording);
    for (int i = 0; i < 40; i++)
        add_value(&recording, add_counter(&recording, 100 + (uint64_t)i, "rss", "bytes", COUNTER_LEVEL), 0,
                  i * 7 % 40);
    struct chart chart = finish(&recording, &(struct chart_options){.to_s = INFINITY});
    assert_int_equal(chart.curve_count, 40);
    for (int i = 0; i < 40; i++)
        assert_float_equal(chart.curves[i].peak.value, 39 - i, 0);
    chart_clear(&chart);
}

/* ---- regions ---- */

static void add_event(struct recording *recording, uint32_t thread, double time_s, uint32_t region)
{
    const struct region_event_row row = {
        .time_ns = 5 * SECOND_NS + (uint64_t)(time_s * 1e9), .thread = thread, .region = region};
    assert_int_not_equal(recording_add_region_event(recording, &row), UINT32_MAX);
}

static void span_is(const struct chart *chart, uint32_t at, const char *name, uint32_t level, double start_s,
                    double end_s)
{
    assert_string_equal(chart_function_name(chart, chart->spans[at].function), name);
    assert_int_equal(chart->spans[at].level, level);
    assert_float_equal(chart->spans[at].start_s, start_s, 1e-9);
    assert_float_equal(chart->spans[at].end_s, end_s, 1e-9);
}

/* a [1 b [2 3] 4] in one thread, c [1.5 ... without an end, and an end too many, in another. */
static void test_regions_are_spans(void **state)
{
    struct recording recording;
    struct chart_options options = {.to_s = 2.5, .functions = true};
    (void)state;
    start(&recording);
    uint32_t rss = add_counter(&recording, 7, "rss", "bytes", COUNTER_LEVEL);
    for (int i = 0; i < 6; i++)
        add_value(&recording, rss, i, i);
    const char *const names[] = {"never", "m.a", "m.b", "c"};
    uint32_t regions[4], threads[2];
    for (int i = 0; i < 4; i++)
        regions[i] = recording_add_region(&recording, &(struct region){.name = text(&recording, names[i])});
    for (int i = 0; i < 2; i++)
        threads[i] = recording_add_thread(&recording, &(struct thread){.process = 1});
    add_event(&recording, threads[0], 1, regions[1]);
    add_event(&recording, threads[0], 2, regions[2]);
    add_event(&recording, threads[0], 3, 0);
    add_event(&recording, threads[0], 4, 0);
    add_event(&recording, threads[1], 0.5, 0);
    add_event(&recording, threads[1], 1.5, regions[3]);
    add_event(&recording, threads[1], 2, regions[1]);
    add_event(&recording, threads[1], 2.25, 0);
    add_event(&recording, threads[1], 4, regions[0]); /* after the window */
    add_event(&recording, threads[1], 5, 0);
    struct chart chart = finish(&recording, &options);
    assert_int_equal(chart.span_count, 4);
    span_is(&chart, 0, "m.a", 0, 1, 2.5);
    span_is(&chart, 1, "m.b", 1, 2, 2.5);
    span_is(&chart, 2, "c", 2, 1.5, 2.5);
    span_is(&chart, 3, "m.a", 3, 2, 2.25);
    assert_true(chart.spans[0].cut_end && chart.spans[2].cut_end && !chart.spans[3].cut_end);
    assert_int_equal(chart.files[0].lanes, 4);
    assert_int_equal(chart.function_count, 3);
    assert_int_equal(chart.functions[0].count, 2);
    assert_float_equal(chart.functions[0].total_s, 1.75, 1e-9);
    assert_string_equal(chart_function_short_name(&chart, 1), "b");
    chart_clear(&chart);
}

/* ---- pictures ---- */

static void draw_all(struct chart *chart, bool dark, bool flame)
{
    struct chart_style style = {
        .title = "<&\x01\xff\"", .dark = dark, .flame = flame, .width = 300, .height = 200};
    struct sheet sheet = {0};
    struct bytes out = {0};
    struct err err = {0};
    assert_int_equal(chart_sheet_draw(chart, &style, &sheet, &err), 0);
    for (uint32_t i = 0; i < sheet.point_count; i++)
        assert_true(isfinite(sheet.points[i].x) && isfinite(sheet.points[i].y));
    assert_int_equal(svg_writer_write(&sheet, style.title, &out, &err), 0);
    assert_int_equal(pdf_writer_write(&sheet, style.title, &out, &err), 0);
    assert_int_equal(png_writer_write(&sheet, 1, style.title, &out, &err), 0);
    bytes_clear(&out);
    sheet_clear(&sheet);
}

/* None, one, equal, negative, the largest and the smallest. */
static void test_odd_values_can_be_drawn(void **state)
{
    static const struct {
        int count;
        int64_t values[4];
    } rows[] = {{1, {5}},
                {1, {0}},
                {2, {0, 0}},
                {3, {-5, -5, -5}},
                {3, {-7, 0, 7}},
                {2, {INT64_MAX, INT64_MAX}},
                {4, {INT64_MIN, INT64_MAX, INT64_MIN, 0}},
                {3, {1000000, 1000001, 1000000}}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct recording recording;
        start(&recording);
        uint32_t rss = add_counter(&recording, 7, "rss", "bytes", COUNTER_LEVEL);
        uint32_t sum = add_counter(&recording, 7, "read", "bytes", COUNTER_SUM);
        for (int j = 0; j < rows[i].count; j++)
            add_value(&recording, rss, i % 2 ? j : 0, rows[i].values[j]);
        for (int j = 0; j < rows[i].count; j++)
            add_value(&recording, sum, j, rows[i].values[j]);
        static const char *const names[] = {"rss", "read"};
        struct chart_options options = {
            .counters = names, .counter_count = 2, .to_s = INFINITY, .slope = true, .functions = true};
        struct chart chart = finish(&recording, &options);
        draw_all(&chart, i % 2, i % 3 == 0);
        chart_clear(&chart);
    }
}

static void test_a_window_beside_the_values_is_empty(void **state)
{
    struct recording recording;
    struct chart_options options = {.from_s = 100, .to_s = 200, .slope = true};
    struct bytes facts = {0};
    (void)state;
    start(&recording);
    uint32_t rss = add_counter(&recording, 7, "rss", "bytes", COUNTER_LEVEL);
    add_value(&recording, rss, 0, 1);
    add_value(&recording, rss, 1, 2);
    struct chart chart = finish(&recording, &options);
    assert_false(chart.curves[0].has_peak);
    chart_put_peak(&chart, &chart.curves[0], &facts);
    assert_memory_equal(facts.data, "no value in this window", facts.size);
    draw_all(&chart, false, false);
    bytes_clear(&facts);
    chart_clear(&chart);
}

/* ---- pixels ---- */

static uint32_t pixel(const struct raster *raster, uint32_t x, uint32_t y)
{
    const uint8_t *at = raster->pixels + ((size_t)y * raster->width + x) * 3;
    return (uint32_t)at[0] << 16 | (uint32_t)at[1] << 8 | at[2];
}

static void test_pixels_are_covered_by_their_share(void **state)
{
    struct raster raster;
    struct err err = {0};
    (void)state;
    assert_int_equal(raster_init(&raster, 20, 10, 0xffffff, &err), 0);
    raster_area(&raster, (struct sheet_point[]){{2, 2}, {4.5, 2}, {4.5, 5}, {2, 5}}, 4);
    raster_paint(&raster, 0x000000, 1);
    assert_int_equal(pixel(&raster, 1, 3), 0xffffff);
    assert_int_equal(pixel(&raster, 2, 2), 0x000000);
    assert_int_equal(pixel(&raster, 4, 3), 0x808080);
    assert_int_equal(pixel(&raster, 3, 5), 0xffffff);
    raster_stroke(&raster, (struct sheet_point[]){{10, 5}, {10, 5}, {14, 5}, {14, 5}}, 4, 2);
    raster_paint(&raster, 0xff0000, 0.5);
    assert_int_equal(pixel(&raster, 12, 4), 0xff8080); /* once, though three pieces meet there */
    assert_int_equal(pixel(&raster, 12, 5), 0xff8080);
    assert_int_equal(pixel(&raster, 12, 7), 0xffffff);
    raster_stroke(&raster, (struct sheet_point[]){{-1e6, -1e6}, {1e6, 1e6}}, 2, 1);
    raster_area(&raster, (struct sheet_point[]){{-1e6, 9}, {1e6, 9}, {1e6, 1e6}}, 3);
    raster_paint(&raster, 0x00ff00, 1);
    assert_int_equal(pixel(&raster, 19, 0), 0xffffff);
    raster_clear(&raster);
}

static void count_stroke(void *context, const struct sheet_point *points, uint32_t count)
{
    uint32_t *strokes = context;
    for (uint32_t i = 0; i < count; i++)
        assert_true(points[i].x > -80 && points[i].x < 1000 && points[i].y > -200 && points[i].y < 960);
    assert_in_range(count, 1, LETTERS_POINTS_MAX - 1);
    ++*strokes;
}

static void test_every_letter_is_drawn(void **state)
{
    (void)state;
    for (uint32_t character = ' ' + 1; character < 0x250; character++) {
        uint32_t strokes = 0;
        letters_draw(character, count_stroke, &strokes);
        assert_true(strokes > 0 && letters_advance(character) > 100);
    }
    const char *words = "\xc3\xa9\xe2\x80\xa6";
    assert_int_equal(letters_next(&words), 0xe9);
    assert_int_equal(letters_next(&words), 0x2026);
    assert_float_equal(letters_width("ab", 10), 11.12, 1e-9);
}

static void test_texts_are_cut_to_fit(void **state)
{
    struct sheet sheet = {.width = 100, .height = 100};
    struct sheet_font font = {.size = 10};
    (void)state;
    sheet_text_fit(&sheet, font, 0, 0, 100, "short");
    sheet_text_fit(&sheet, font, 0, 0, 30, "too long to fit");
    sheet_text_fit(&sheet, font, 0, 0, 3, "none");
    assert_int_equal(sheet.shape_count, 2);
    assert_string_equal(sheet_string(&sheet, sheet.shapes[0].text), "short");
    assert_string_equal(sheet_string(&sheet, sheet.shapes[1].text), "too l…");
    sheet_clear(&sheet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_marks_are_round),
        cmocka_unit_test(test_marks_of_any_range),
        cmocka_unit_test(test_values_have_their_own_unit),
        cmocka_unit_test(test_slope_of_a_line),
        cmocka_unit_test(test_a_start_that_climbs_is_no_leak),
        cmocka_unit_test(test_the_interval_holds),
        cmocka_unit_test(test_too_few_points_have_no_slope),
        cmocka_unit_test(test_sums_are_rates),
        cmocka_unit_test(test_counters_are_chosen),
        cmocka_unit_test(test_the_window_cuts),
        cmocka_unit_test(test_thinning_keeps_every_peak),
        cmocka_unit_test(test_many_curves),
        cmocka_unit_test(test_regions_are_spans),
        cmocka_unit_test(test_odd_values_can_be_drawn),
        cmocka_unit_test(test_a_window_beside_the_values_is_empty),
        cmocka_unit_test(test_pixels_are_covered_by_their_share),
        cmocka_unit_test(test_every_letter_is_drawn),
        cmocka_unit_test(test_texts_are_cut_to_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
