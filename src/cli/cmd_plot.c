/* sonde plot: memory and other counters over time, as a picture or in the terminal. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "analyse/chart.h"
#include "base/bytes.h"
#include "base/err.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/picture.h"
#include "cli/selection_options.h"
#include "export/chart_sheet.h"
#include "export/pdf_writer.h"
#include "export/png_writer.h"
#include "export/sheet.h"
#include "export/svg_writer.h"
#include "show/chart_text.h"
#include "show/terminal.h"
#include "store/recording.h"

#define PNG_SCALE     2 /* pixels of the file for one of the picture: sharp on the screens of today */
#define SMALLEST      200
#define LARGEST       4000
#define TERMINAL_ROWS 18
#define FEW_ROWS      8
#define ROWS_BESIDE   7 /* of a terminal: title, axis, legend and the next prompt */

struct plot_values {
    const char *output, *format, *title, *range, *size;
    const char *backend; /* of matplotlib, in mprof plot: taken, and of no use */
    struct option_list counters;
    bool slope, flame, function_marks, dark;
};

static const struct plot_values defaults = {.size = "1000x500", .function_marks = true};

#define FIELD(name) offsetof(struct plot_values, name)

static const char *const formats[] = {"svg", "png", "pdf", NULL};

static const struct option options[] = {
    {"output", 'o', OPTION_TEXT, "FILE", FIELD(output), NULL,
     "Draw a picture: .svg, .png or .pdf. Without it the plot is drawn in the terminal."},
    {"format", 0, OPTION_CHOICE, "FORMAT", FIELD(format), formats,
     "What the picture is, whatever FILE is called: svg, png or pdf."},
    {"What is drawn", 0, OPTION_HEADING, NULL, 0, NULL, NULL},
    {"counter", 0, OPTION_LIST, "NAME", FIELD(counters), NULL,
     "Draw this counter: rss, heap, cpu (as cores in use), or any other in the recording. May be given "
     "several times. "
     "Otherwise all that count bytes are drawn."},
    {"range", 'w', OPTION_TEXT, "A,B", FIELD(range), NULL,
     "Only this part of the time, in seconds from the start (either end may be left out): -w 0,20.5."},
    {"window", 0, OPTION_TEXT, "A,B", FIELD(range), NULL, NULL},
    {"slope", 's', OPTION_FLAG, NULL, FIELD(slope), NULL,
     "Draw how fast each curve rises over all, and say it with its error: what leaks goes on rising. A start "
     "that "
     "climbs and short peaks do not count."},
    {"function-marks", 'n', OPTION_FLAG, NULL, FIELD(function_marks), NULL,
     "Do not mark where functions and regions began and ended."},
    {"flame", 'f', OPTION_FLAG, NULL, FIELD(flame), NULL,
     "Show functions and regions as nested rectangles below the curves, with their names."},
    {"How it looks", 0, OPTION_HEADING, NULL, 0, NULL, NULL},
    {"title", 't', OPTION_TEXT, "TEXT", FIELD(title), NULL,
     "The title; otherwise the command that was recorded, or the names of the files."},
    {"dark", 0, OPTION_FLAG, NULL, FIELD(dark), NULL, "Light curves on a dark background."},
    {"size", 0, OPTION_TEXT, "WIDTHxHEIGHT", FIELD(size), NULL,
     "Of a picture, in CSS pixels (1/96 inch); a .png has twice as many each way."},
    {"backend", 0, OPTION_TEXT, "NAME", FIELD(backend), NULL, NULL},
    {NULL},
};

/* ---- options ---- */

static int parse_size(const char *text, struct chart_style *style, struct err *err)
{
    int used = 0;
    unsigned width = 0, height = 0;
    if (sscanf(text, "%5ux%5u%n", &width, &height, &used) != 2 || text[used] || width < SMALLEST ||
        height < SMALLEST || width > LARGEST || height > LARGEST)
        return err_set(err, "--size: '%s' is not a size such as 1000x500, from %dx%d to %dx%d", text,
                       SMALLEST, SMALLEST, LARGEST, LARGEST);
    style->width = width;
    style->height = height;
    return 0;
}

/* NULL = the terminal. */
static int choose_format(const struct plot_values *values, const char **format, struct err *err)
{
    *format = values->output || values->format ? output_format(values->format, values->output, "") : NULL;
    if (*format && !picture_is_format(*format))
        return err_set(err, "cannot tell what to draw into '%s': name it .svg, .png or .pdf, or add --format",
                       values->output);
    return 0;
}

/* ---- the chart ---- */

static int read_chart(const struct input_paths *paths, const struct chart_options *chosen,
                      struct chart *chart, struct err *err)
{
    for (size_t i = 0; i < paths->count; i++) {
        struct recording recording = {0};
        int result = input_read(paths->items[i], &recording, err);
        if (result == 0)
            result = chart_add(chart, &recording, paths->items[i], chosen, err);
        recording_clear(&recording);
        if (result != 0)
            return -1;
    }
    return 0;
}

/* Every counter that was asked for is in one of the files. */
static int check_counters(const struct option_list *names, const struct chart *chart, struct err *err)
{
    for (size_t i = 0; i < names->count; i++) {
        uint32_t at = 0;
        while (at < chart->curve_count && strcmp(chart->curves[at].counter, names->items[i]) != 0)
            at++;
        if (at == chart->curve_count)
            return err_set(
                err,
                "--counter: no file has values of '%s'; 'sonde report --json' lists what a recording counts",
                names->items[i]);
    }
    return 0;
}

/* The title that was given, else what was run, else what is read. */
static void put_title(const struct plot_values *values, const struct chart *chart, struct bytes *title)
{
    bool named = values->title || (chart->command && chart->file_count == 1);
    if (named)
        bytes_put_text(title, values->title ? values->title : chart->command);
    for (uint32_t i = 0; !named && i < chart->file_count; i++)
        bytes_putf(title, "%s%s", i ? ", " : "", chart->files[i].name);
    bytes_put_u8(title, 0);
}

/* ---- output ---- */

static int draw_picture(const struct chart *chart, const struct chart_style *style, const char *format,
                        const char *path, struct err *err)
{
    struct sheet sheet = {0};
    struct bytes picture = {0};
    int result = chart_sheet_draw(chart, style, &sheet, err);
    if (result == 0 && strcmp(format, "svg") == 0)
        result = svg_writer_write(&sheet, style->title, &picture, err);
    else if (result == 0 && strcmp(format, "pdf") == 0)
        result = pdf_writer_write(&sheet, style->title, &picture, err);
    else if (result == 0)
        result = png_writer_write(&sheet, PNG_SCALE, style->title, &picture, err);
    if (result == 0)
        result = output_write(path ? path : "-", picture.data, picture.size, err);
    sheet_clear(&sheet);
    bytes_clear(&picture);
    return result;
}

static unsigned terminal_rows(void)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0)
        return TERMINAL_ROWS;
    unsigned rows = size.ws_row > ROWS_BESIDE + FEW_ROWS ? size.ws_row - ROWS_BESIDE : FEW_ROWS;
    return rows < 2 * TERMINAL_ROWS ? rows : 2 * TERMINAL_ROWS;
}

static int draw_text(const struct chart *chart, const char *title, struct err *err)
{
    struct bytes out = {0};
    terminal_choose_locale();
    struct chart_text_style style = {.title = title,
                                     .columns = message_columns(stdout),
                                     .rows = terminal_rows(),
                                     .ascii = terminal_is_ascii(),
                                     .color = message_has_color(stdout)};
    int result = chart_text_put(chart, &style, &out, err);
    if (result == 0)
        result = output_write("-", out.data, out.size, err);
    bytes_clear(&out);
    return result;
}

static int draw(const struct plot_values *values, const char *format, struct chart_style *style,
                const struct chart_options *chosen, struct chart *chart, struct err *err)
{
    unsigned marks = format ? chart_sheet_time_marks(style) : chart_text_time_marks(message_columns(stdout));
    struct bytes title = {0};
    if (chart_finish(chart, chosen, marks, err) != 0)
        return -1;
    put_title(values, chart, &title);
    style->title = title.failed ? "" : (const char *)title.data;
    int result = format ? draw_picture(chart, style, format, values->output, err)
                        : draw_text(chart, style->title, err);
    bytes_clear(&title);
    return result;
}

static int run(void *parsed, int argc, char **argv)
{
    const struct plot_values *values = parsed;
    struct chart_options chosen = {.counters = values->counters.items,
                                   .counter_count = values->counters.count,
                                   .to_s = INFINITY,
                                   .slope = values->slope,
                                   .functions = values->function_marks};
    struct chart_style style = {.dark = values->dark, .flame = values->flame};
    struct input_paths paths = {0};
    struct chart chart = {0};
    struct err err = {0};
    const char *format = NULL;
    int result = 0;
    if (values->range)
        result = selection_options_range(values->range, &chosen.from_s, &chosen.to_s, &err);
    if (result == 0)
        result = parse_size(values->size, &style, &err);
    if (result == 0)
        result = choose_format(values, &format, &err);
    if (result == 0)
        result = input_expand(argc, argv, &paths, &err);
    if (result == 0)
        result = read_chart(&paths, &chosen, &chart, &err);
    if (result == 0)
        result = check_counters(&values->counters, &chart, &err);
    if (result == 0)
        result = draw(values, format, &style, &chosen, &chart, &err);
    chart_clear(&chart);
    input_clear(&paths);
    return result == 0 ? 0 : message_fail(&err);
}

const struct command command_plot = {
    .name = "plot",
    .group = "Look",
    .summary = "Plot memory and other counters over time",
    .arguments = "[FILE...]",
    .description =
        "Draws how much memory a program had while it ran, and when it had the most, as mprof plot does: in "
        "the terminal, or with -o as a picture. It reads recordings of every kind and mprof's .dat files. "
        "Each "
        "process is a curve of its own; several files are aligned at their starts. --counter chooses what is "
        "drawn; counters of different units get a panel each.\n\n"
        "The slope of --slope is the median of the slopes between any two times (Theil and Sen); its "
        "interval "
        "takes into account that values depend on those before them. An interval that contains 0 does not "
        "show a leak.\n\n"
        "Without a file the newest recording in the working directory is used.",
    .examples = "sonde plot\tthe newest recording, here in the terminal\n"
                "sonde plot -s -o memory.png run.sonde\ta picture, with the slope\n"
                "sonde plot --counter rss --counter cpu run.sonde\tmemory and CPU, one above the other\n"
                "sonde plot -w 10,60 -t 'before and after' a.dat b.dat -o both.pdf\ttwo of mprof's files",
    .options = options,
    .defaults = &defaults,
    .values_size = sizeof defaults,
    .run = run,
};
