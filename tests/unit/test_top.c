/* top: the screen as text, of several sizes; what keys do; what a canvas makes of any text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/live.h"
#include "base/bytes.h"
#include "show/canvas.h"
#include "show/top_screen.h"
#include "show/top_view.h"
#include "tests/live_sample.h"

#define RUNNING (SAMPLE_RUNNING | SAMPLE_GIL)

struct scene {
    struct recording recording;
    struct live live;
    struct top_view view;
    struct top_facts facts;
    struct canvas canvas;
    struct bytes text;
};

static int set_up(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    live_program(&scene->recording);
    scene->live.start_ns = 100 * LIVE_SAMPLE_SECOND;
    for (uint64_t second = 100; second < 103; second++) {
        scene->recording.samples_count = 0;
        live_samples(&scene->recording, second, 70, 1, NODE_WORK, RUNNING);
        live_samples(&scene->recording, second, 30, 1, NODE_DEEP, second == 101 ? RUNNING : SAMPLE_RUNNING);
        live_samples(&scene->recording, second, 100, 2, NODE_MAIN, second == 102 ? 0 : SAMPLE_RUNNING);
        live_add(&scene->live, &scene->recording, (second + 1) * LIVE_SAMPLE_SECOND, NULL);
    }
    scene->facts = (struct top_facts){.program = "python3.12 sim.py --steps 10",
                                      .recording = &scene->recording,
                                      .live = &scene->live,
                                      .rate_hz = 100};
    scene->canvas.ascii = true;
    *state = scene;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *scene = *state;
    canvas_clear(&scene->canvas);
    bytes_clear(&scene->text);
    live_clear(&scene->live);
    recording_clear(&scene->recording);
    free(scene);
    return 0;
}

/* The screen without trailing blank lines. */
static const char *drawn(struct scene *scene, unsigned rows, unsigned columns)
{
    bytes_reset(&scene->text);
    assert_int_equal(canvas_resize(&scene->canvas, rows, columns, NULL), 0);
    assert_int_equal(top_screen_draw(&scene->canvas, &scene->view, &scene->facts, NULL), 0);
    canvas_text(&scene->canvas, &scene->text);
    bytes_put_u8(&scene->text, '\0');
    return (const char *)scene->text.data;
}

static void the_usual_screen(void **state)
{
    assert_string_equal(drawn(*state, 24, 80),
                        "sonde top python3.12 sim.py --steps 10                    Python 3.12.1  0:00:03\n"
                        "GIL: 70%  Active: 100%  Threads: 2 (1 idle)  Samples: 600 at 100 Hz\n"
                        "CPU                                                         ##: of 200%\n"
                        "GIL                                                         =#= of 100%\n"
                        "  >%Own  %Total  OwnTime  TotalTime  Function (filename:line)\n"
                        " 70.00% 100.00%    2.10s      3.00s  work (sim/model.py:3)\n"
                        " 30.00%  30.00%    0.90s      0.90s  deep (sim/model.py:10)\n"
                        "  0.00% 100.00%    2.00s      5.00s  main (sim/model.py:20)\n"
                        "\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n"
                        "?:help  1-4:sort  l:lines  t:threads  /:filter  o:output  p:pause  q:quit\n");
}

static void a_small_screen(void **state)
{
    assert_string_equal(drawn(*state, 8, 40), "python3.12 sim.py --steps 10     0:00:03\n"
                                              "GIL: 70%  Active: 100%\n"
                                              "  >%Own  %Total  Function (filename:line\n"
                                              " 70.00% 100.00%  work (sim/model.py:3)\n"
                                              " 30.00%  30.00%  deep (sim/model.py:10)\n"
                                              "  0.00% 100.00%  main (sim/model.py:20)\n"
                                              "\n"
                                              "?:help  1-4:sort  l:lines  t:threads  /.\n");
}

static void no_size_is_too_small_or_too_large(void **state)
{
    struct scene *scene = *state;
    for (int what = 0; what < 4; what++) {
        scene->view.help = what == 1;
        scene->view.output = what == 2;
        scene->view.threads = what == 3;
        for (unsigned rows = 1; rows < 40; rows++)
            for (unsigned columns = 1; columns < 130; columns += 3)
                drawn(scene, rows, columns);
    }
    drawn(scene, 100000, 100000);
    assert_int_equal(scene->canvas.rows, 1000);
}

static void press(struct scene *scene, const char *keys)
{
    for (; *keys; keys++)
        top_view_key(&scene->view, (unsigned char)*keys);
}

/* The lines of the table, from its heading on. */
static const char *table(struct scene *scene)
{
    const char *text = drawn(scene, 12, 80);
    return strchr(strchr(text, '\n') + 1, '\n') + 1;
}

static void lines_in_place_of_functions(void **state)
{
    press(*state, "L2");
    assert_string_equal(table(*state),
                        "   %Own >%Total  OwnTime  TotalTime  Function (filename:line)\n"
                        "  0.00% 100.00%    2.00s      5.00s  main (sim/model.py:21)\n"
                        " 70.00%  70.00%    2.10s      2.10s  work (sim/model.py:4)\n"
                        " 30.00%  30.00%    0.90s      0.90s  deep (sim/model.py:11)\n"
                        "  0.00%  30.00%    0.00s      0.90s  work (sim/model.py:5)\n"
                        "\n\n\n\n"
                        "?:help  1-4:sort  l:lines  t:threads  /:filter  o:output  p:pause  q:quit\n");
}

static void every_column_sorts(void **state)
{
    static const char *const first[] = {"work", "work", "work", "main"};
    for (int column = 0; column < 4; column++) {
        top_view_key(&((struct scene *)*state)->view, '1' + column);
        const char *row = strchr(table(*state), '\n') + 1;
        assert_int_equal(strncmp(row + 37, first[column], 4), 0);
    }
}

static void threads_in_place_of_functions(void **state)
{
    press(*state, "t");
    assert_string_equal(table(*state),
                        "  >%CPU    %GIL  CPUTime    GILTime  Thread: where it is\n"
                        "100.00%  70.00%    3.00s      2.40s  MainThread 4711: work (sim/model.py:4)\n"
                        "  0.00%   0.00%    2.00s      0.00s  pool 4712: main (sim/model.py:21)\n"
                        "\n\n\n\n\n\n"
                        "?:help  1-4:sort  l:lines  t:threads  /:filter  o:output  p:pause  q:quit\n");
}

static void a_filter_chooses(void **state)
{
    struct scene *scene = *state;
    press(scene, "/DEXX\x7f\x7f"
                 "EP|main");
    assert_non_null(strstr(drawn(scene, 12, 80), "\n/DEEP|main_\n"));
    assert_non_null(strstr(drawn(scene, 12, 80), "work ("));
    press(scene, "\n");
    assert_null(strstr(drawn(scene, 12, 80), "work ("));
    assert_non_null(strstr(drawn(scene, 12, 80), "deep ("));
    assert_non_null(strstr(drawn(scene, 12, 80), "\n/DEEP|main  only  Esc: all\n"));
    press(scene, "/\x15nowhere\n");
    assert_non_null(strstr(drawn(scene, 12, 80), "nothing matches the filter"));
    press(scene, "/\x15(\n");
    assert_non_null(strstr(drawn(scene, 12, 80), "is no pattern"));
    assert_non_null(strstr(drawn(scene, 12, 80), "work ("));
    press(scene, "/what\x1b");
    assert_string_equal(scene->view.filter, "(");
    press(scene, "\x1b");
    assert_string_equal(scene->view.filter, "");
}

static void a_filter_has_a_longest_length(void **state)
{
    struct scene *scene = *state;
    press(scene, "/");
    for (int i = 0; i < 1000; i++)
        press(scene, "\xc3\xa9");
    assert_int_equal(strlen(scene->view.typed), TOP_VIEW_FILTER_MAX - 1);
    for (int i = 0; i < 1000; i++)
        press(scene, "\x7f");
    assert_string_equal(scene->view.typed, "");
}

static void scrolling_stays_within(void **state)
{
    struct scene *scene = *state;
    drawn(scene, 7, 80); /* room for three */
    assert_int_equal(scene->view.page, 3);
    drawn(scene, 6, 80);
    unsigned page = scene->view.page;
    top_view_key(&scene->view, TOP_VIEW_END);
    drawn(scene, 5, 80);
    assert_int_equal(scene->view.page, 2);
    assert_int_equal(scene->view.scroll, 1);
    assert_null(strstr(drawn(scene, 5, 80), "work ("));
    top_view_key(&scene->view, TOP_VIEW_UP);
    top_view_key(&scene->view, TOP_VIEW_PAGE_UP);
    assert_int_equal(scene->view.scroll, 0);
    press(scene, "jjjk");
    assert_int_equal(scene->view.scroll, 2);
    top_view_key(&scene->view, TOP_VIEW_HOME);
    assert_int_equal(scene->view.scroll, 0);
    assert_true(page >= 2);
}

static void help_and_output_are_shown(void **state)
{
    struct scene *scene = *state;
    press(scene, "?");
    assert_non_null(strstr(drawn(scene, 24, 80), "\n  1 2 3 4        sort by the column\n"));
    press(scene, "xo");
    scene->facts.output = "first\nsecond \x1b[31mred\nlast";
    const char *text = drawn(scene, 24, 80);
    assert_non_null(strstr(text, " The program's output\nfirst\nsecond ?[31mred\nlast\n"));
    text = drawn(scene, 17, 80); /* a third: a heading and four lines */
    scene->facts.output = "1\n2\n3\n4\n5\n6\n7\n";
    text = drawn(scene, 17, 80);
    assert_non_null(strstr(text, " The program's output\n4\n5\n6\n7\n"));
}

static void keys_that_leave_pause_and_reset(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(top_view_key(&scene->view, 'q'), TOP_VIEW_QUIT);
    assert_int_equal(top_view_key(&scene->view, TOP_VIEW_INTERRUPT), TOP_VIEW_QUIT);
    assert_int_equal(top_view_key(&scene->view, 'R'), TOP_VIEW_RESET);
    assert_int_equal(top_view_key(&scene->view, ' '), TOP_VIEW_PAUSE);
    assert_true(scene->view.paused);
    assert_non_null(strstr(drawn(scene, 24, 80), "\nPAUSED  ?:help"));
    assert_int_equal(top_view_key(&scene->view, 'z'), TOP_VIEW_NOTHING);
    press(scene, "/");
    assert_int_equal(top_view_key(&scene->view, 'q'), TOP_VIEW_DRAW);
    assert_string_equal(scene->view.typed, "q");
}

static void a_table_of_text(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(top_screen_draw_plain(&scene->canvas, 80, 2, &scene->view, &scene->facts, NULL), 0);
    canvas_text(&scene->canvas, &scene->text);
    bytes_put_u8(&scene->text, '\0');
    assert_string_equal((char *)scene->text.data,
                        "sonde top python3.12 sim.py --steps 10                    Python 3.12.1  0:00:03\n"
                        "GIL: 70%  Active: 100%  Threads: 2 (1 idle)  Samples: 600 at 100 Hz\n"
                        "  >%Own  %Total  OwnTime  TotalTime  Function (filename:line)\n"
                        " 70.00% 100.00%    2.10s      3.00s  work (sim/model.py:3)\n"
                        " 30.00%  30.00%    0.90s      0.90s  deep (sim/model.py:10)\n"
                        "\n");
}

static void any_text_can_be_put(void **state)
{
    struct scene *scene = *state;
    scene->canvas.ascii = false;
    assert_int_equal(canvas_resize(&scene->canvas, 2, 6, NULL), 0);
    canvas_put(&scene->canvas, 0, 0, CANVAS_PLAIN, "\xc3\xa9\xff\x01\xe2\x82");
    canvas_put_fit(&scene->canvas, 1, 1, 5, CANVAS_PLAIN, "abcdef");
    canvas_put(&scene->canvas, 7, 7, CANVAS_PLAIN, "outside");
    canvas_text(&scene->canvas, &scene->text);
    bytes_put_u8(&scene->text, '\0');
    assert_string_equal((char *)scene->text.data, "\xc3\xa9????\n abcd\xe2\x80\xa6\n");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(the_usual_screen),
        TEST(a_small_screen),
        TEST(no_size_is_too_small_or_too_large),
        TEST(lines_in_place_of_functions),
        TEST(every_column_sorts),
        TEST(threads_in_place_of_functions),
        TEST(a_filter_chooses),
        TEST(a_filter_has_a_longest_length),
        TEST(scrolling_stays_within),
        TEST(help_and_output_are_shown),
        TEST(keys_that_leave_pause_and_reset),
        TEST(a_table_of_text),
        TEST(any_text_can_be_put),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
