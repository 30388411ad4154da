#include "show/top_screen.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyse/live.h"
#include "base/err.h"
#include "show/canvas.h"
#include "show/top_rows.h"
#include "show/top_view.h"
#include "store/recording.h"

#define SECOND_NS UINT64_C(1000000000)

enum {
    WIDE = 60,   /* columns from which all four numbers are shown */
    NARROW = 36, /* and two */
    TALL = 16,   /* rows from which the last minute is shown */
    LABEL_COLUMN = TOP_VIEW_COLUMNS,
};

/* What is being drawn, and how far down it is. */
struct picture {
    struct canvas *canvas;
    struct top_view *view;
    const struct top_facts *facts;
    unsigned row;
};

static double percent(const struct live *live, uint64_t part_ns)
{
    uint64_t whole_ns = live->end_ns - live->begin_ns;
    return whole_ns ? 100.0 * (double)part_ns / (double)whole_ns : 0;
}

/* ---- heading ---- */

static uint32_t running_processes(const struct recording *recording)
{
    uint32_t count = 0;
    for (uint32_t i = 1; i < recording->processes_count; i++)
        count += recording->processes[i].end_ns == 0;
    return count;
}

/* "3.12.1"; the first process that is one. */
static const char *python_of(const struct recording *recording)
{
    for (uint32_t i = 1; i < recording->processes_count; i++)
        if (recording->processes[i].python)
            return recording_text(recording, recording->processes[i].python);
    return "";
}

static void draw_title(struct picture *picture)
{
    const struct top_facts *facts = picture->facts;
    uint64_t seconds = (facts->live->end_ns - facts->live->start_ns) / SECOND_NS;
    unsigned columns = picture->canvas->columns;
    const char *python = columns >= WIDE ? python_of(facts->recording) : "";
    char right[96];
    int size = snprintf(right, sizeof right, "%s%s  %" PRIu64 ":%02" PRIu64 ":%02" PRIu64,
                        python[0] ? "Python " : "", python, seconds / 3600, seconds / 60 % 60, seconds % 60);
    unsigned right_columns = (unsigned)size;
    unsigned left = columns > right_columns + 12 ? columns - right_columns - 2 : columns;
    unsigned at =
        canvas_put(picture->canvas, picture->row, 0, CANVAS_DIM, columns >= WIDE ? "sonde top " : "");
    canvas_put_fit(picture->canvas, picture->row, at, left > at ? left - at : 0, CANVAS_BOLD, facts->program);
    if (left < columns)
        canvas_put(picture->canvas, picture->row, columns - right_columns, CANVAS_PLAIN, right);
    picture->row++;
}

/* As many facts as fit: whole ones only. */
static unsigned put_fact(struct picture *picture, unsigned at, const char *text)
{
    unsigned gap = at ? 2 : 0;
    if (at + gap + canvas_columns(text) > picture->canvas->columns)
        return at;
    return canvas_put(picture->canvas, picture->row, at + gap, CANVAS_PLAIN, text);
}

static void draw_facts(struct picture *picture)
{
    const struct live *live = picture->facts->live;
    uint32_t idle, threads = live_threads(live, &idle);
    uint32_t processes = running_processes(picture->facts->recording);
    char text[96];
    snprintf(text, sizeof text, "GIL: %.0f%%", percent(live, live->gil_ns));
    unsigned at = put_fact(picture, 0, text);
    snprintf(text, sizeof text, "Active: %.0f%%", percent(live, live->running_ns));
    at = put_fact(picture, at, text);
    snprintf(text, sizeof text, "Threads: %" PRIu32 " (%" PRIu32 " idle)", threads, idle);
    at = put_fact(picture, at, text);
    if (processes > 1) {
        snprintf(text, sizeof text, "Processes: %" PRIu32, processes);
        at = put_fact(picture, at, text);
    }
    snprintf(text, sizeof text, "Samples: %" PRIu64 " at %" PRIu64 " Hz", live->samples,
             picture->facts->rate_hz);
    put_fact(picture, at, text);
    picture->row++;
}

/* ---- the last minute ---- */

static uint64_t value_of(struct live_second second, bool gil)
{
    return gil ? second.gil_ns : second.running_ns;
}

/* Whole seconds, the newest at the right. The scale is as many whole CPUs as there were at work, or nearly. */
static void draw_minute(struct picture *picture, const char *title, bool gil)
{
    const struct live *live = picture->facts->live;
    unsigned columns = picture->canvas->columns,
             at = canvas_put(picture->canvas, picture->row, 0, CANVAS_DIM, title);
    unsigned bars = columns > at + 12 ? columns - at - 12 : 0;
    uint64_t most_ns = 0;
    bars = bars < LIVE_SECONDS - 1 ? bars : LIVE_SECONDS - 1;
    for (unsigned ago = 0; ago < bars; ago++) {
        uint64_t value_ns = value_of(live_second_ago(live, ago), gil);
        most_ns = value_ns > most_ns ? value_ns : most_ns;
    }
    uint64_t cpus = 1 + most_ns / (SECOND_NS + SECOND_NS / 10);
    for (unsigned ago = 0; ago < bars; ago++) {
        uint64_t value_ns = value_of(live_second_ago(live, ago), gil);
        unsigned height = (unsigned)((double)value_ns * 8 / (double)(cpus * SECOND_NS) + 0.5);
        canvas_put_bar(picture->canvas, picture->row, at + bars - 1 - ago, gil ? CANVAS_COOL : CANVAS_WARM,
                       height);
    }
    canvas_putf(picture->canvas, picture->row, at + bars + 1, CANVAS_DIM, "of %" PRIu64 "00%%", cpus);
    picture->row++;
}

/* ---- table ---- */

/* Which columns there is room for: of two the sorted one and its like, of one the sorted one. */
static bool is_shown(const struct picture *picture, unsigned column)
{
    unsigned columns = picture->canvas->columns, sort = picture->view->sort;
    return columns >= WIDE || column == sort || (columns >= NARROW && column / 2 == sort / 2);
}

static const unsigned widths[TOP_VIEW_COLUMNS] = {7, 8, 9, 11};

static void draw_heading(struct picture *picture)
{
    unsigned at = 0;
    canvas_fill(picture->canvas, picture->row, CANVAS_REVERSE);
    for (unsigned column = 0; column < TOP_VIEW_COLUMNS; column++) {
        if (!is_shown(picture, column))
            continue;
        const char *heading = top_rows_heading(picture->view, column);
        unsigned columns = (unsigned)strlen(heading);
        bool sorted = column == picture->view->sort;
        canvas_put(picture->canvas, picture->row, at + widths[column] - columns - sorted, CANVAS_REVERSE,
                   sorted ? ">" : "");
        at += widths[column];
        canvas_put(picture->canvas, picture->row, at - columns, CANVAS_REVERSE, heading);
    }
    canvas_put(picture->canvas, picture->row, at + 2, CANVAS_REVERSE,
               top_rows_heading(picture->view, LABEL_COLUMN));
    picture->row++;
}

static enum canvas_style heat(double own_percent)
{
    return own_percent >= 20 ? CANVAS_HOT : own_percent >= 5 ? CANVAS_WARM : CANVAS_PLAIN;
}

static void put_time(char *text, size_t size, uint64_t time_ns)
{
    uint64_t seconds = time_ns / SECOND_NS;
    if (seconds < 1000)
        snprintf(text, size, "%.2fs", (double)time_ns / 1e9);
    else if (seconds < 100 * 3600)
        snprintf(text, size, "%" PRIu64 ":%02" PRIu64 ":%02" PRIu64, seconds / 3600, seconds / 60 % 60,
                 seconds % 60);
    else
        snprintf(text, size, "%" PRIu64 "h", seconds / 3600);
}

static void draw_row(struct picture *picture, const struct top_rows *rows, const struct top_row *row)
{
    const struct live *live = picture->facts->live;
    enum canvas_style style = heat(percent(live, row->values_ns[0]));
    unsigned at = 0, columns = picture->canvas->columns;
    for (unsigned column = 0; column < TOP_VIEW_COLUMNS; column++) {
        char text[32];
        if (!is_shown(picture, column))
            continue;
        if (column < 2)
            snprintf(text, sizeof text, "%.2f%%", percent(live, row->values_ns[column]));
        else
            put_time(text, sizeof text, row->values_ns[column]);
        at += widths[column];
        unsigned size = (unsigned)strlen(text);
        canvas_put(picture->canvas, picture->row, at > size ? at - size : 0,
                   column == 0 ? style : CANVAS_PLAIN, text);
    }
    at += 2;
    canvas_put_fit(picture->canvas, picture->row, at, columns > at ? columns - at : 0, CANVAS_PLAIN,
                   top_rows_label(rows, row));
    picture->row++;
}

static const char *nothing_to_show(const struct picture *picture, const struct top_rows *rows)
{
    if (rows->hidden)
        return "nothing matches the filter";
    return picture->facts->live->samples ? "no thread is running Python code now"
                                         : "waiting for the first samples";
}

static void draw_rows(struct picture *picture, const struct top_rows *rows, unsigned room)
{
    struct top_view *view = picture->view;
    unsigned last = rows->count > room ? rows->count - room : 0;
    view->page = room;
    view->scroll = view->scroll < last ? view->scroll : last;
    if (rows->count == 0 && room)
        canvas_put(picture->canvas,
                   picture->row + 1 < picture->canvas->rows ? picture->row + 1 : picture->row, 2, CANVAS_DIM,
                   nothing_to_show(picture, rows));
    for (unsigned i = 0; i < room && view->scroll + i < rows->count; i++)
        draw_row(picture, rows, &rows->rows[view->scroll + i]);
}

/* ---- below the table ---- */

/* The last `room` lines. */
static void draw_output(struct picture *picture, unsigned room)
{
    const char *output = picture->facts->output ? picture->facts->output : "";
    size_t size = strlen(output);
    canvas_fill(picture->canvas, picture->row, CANVAS_REVERSE);
    canvas_put(picture->canvas, picture->row, 0, CANVAS_REVERSE,
               picture->facts->output ? " The program's output" : " The program writes elsewhere");
    const char *from = output + size - (size && output[size - 1] == '\n');
    for (unsigned lines = 0; from > output; from--)
        if (from[-1] == '\n' && ++lines == room - 1)
            break;
    for (unsigned i = 1; i < room && *from; i++) {
        char line[1024];
        size_t length = strcspn(from, "\n");
        snprintf(line, sizeof line, "%.*s", (int)(length < sizeof line ? length : sizeof line - 1), from);
        canvas_put_fit(picture->canvas, picture->row + i, 0, picture->canvas->columns, CANVAS_PLAIN, line);
        from += length + (from[length] != '\0');
    }
    picture->row += room;
}

static void draw_help(struct picture *picture, unsigned room)
{
    for (unsigned i = 0; top_view_help[i] && i < room; i++, picture->row++) {
        const char *tab = strchr(top_view_help[i], '\t');
        char keys[32];
        snprintf(keys, sizeof keys, "%.*s", (int)(tab - top_view_help[i]), top_view_help[i]);
        unsigned at = picture->canvas->columns >= WIDE ? 2 : 0;
        canvas_put(picture->canvas, picture->row, at, CANVAS_BOLD, keys);
        at += 15;
        canvas_put_fit(picture->canvas, picture->row, at,
                       picture->canvas->columns > at ? picture->canvas->columns - at : 0, CANVAS_PLAIN,
                       tab + 1);
    }
}

static void draw_keys(struct picture *picture, const struct top_rows *rows)
{
    const struct top_view *view = picture->view;
    struct canvas *canvas = picture->canvas;
    unsigned row = canvas->rows - 1, columns = canvas->columns;
    char text[TOP_VIEW_FILTER_MAX + 64] = "";
    if (view->typing)
        snprintf(text, sizeof text, "/%s_", view->typed);
    else if (picture->facts->message)
        snprintf(text, sizeof text, "%s", picture->facts->message);
    else if (view->filter[0])
        snprintf(text, sizeof text, "/%s  %s  Esc: all", view->filter,
                 rows->bad_filter ? "is no pattern" : "only");
    if (text[0]) {
        canvas_put_fit(canvas, row, 0, columns, CANVAS_BOLD, text);
        return;
    }
    unsigned at = view->paused ? canvas_put(canvas, row, 0, CANVAS_BOLD, "PAUSED  ") : 0;
    canvas_put_fit(canvas, row, at, columns > at ? columns - at : 0, CANVAS_DIM,
                   "?:help  1-4:sort  l:lines  t:threads  /:filter  o:output  p:pause  q:quit");
}

/* ---- the whole ---- */

static void draw_body(struct picture *picture, const struct top_rows *rows)
{
    unsigned all = picture->canvas->rows;
    unsigned below = all > 4, output = picture->view->output && all > TALL ? all / 3 : 0;
    draw_title(picture);
    if (all > 6)
        draw_facts(picture);
    if (all >= TALL) {
        draw_minute(picture, "CPU ", false);
        draw_minute(picture, "GIL ", true);
    }
    unsigned used = picture->row + 1 + below + output;
    unsigned room = all > used ? all - used : 0;
    if (picture->view->help) {
        picture->row++;
        draw_help(picture, room);
    } else {
        draw_heading(picture);
        draw_rows(picture, rows, room);
    }
    picture->row = all - below - output;
    if (output)
        draw_output(picture, output);
    if (below)
        draw_keys(picture, rows);
}

int top_screen_draw(struct canvas *canvas, struct top_view *view, const struct top_facts *facts,
                    struct err *err)
{
    struct picture picture = {.canvas = canvas, .view = view, .facts = facts};
    struct top_rows rows;
    int result = top_rows_build(view, facts->recording, facts->live, &rows, err);
    if (result == 0 && canvas->rows && canvas->columns)
        draw_body(&picture, &rows);
    top_rows_clear(&rows);
    return result;
}

int top_screen_draw_plain(struct canvas *canvas, unsigned columns, unsigned limit, struct top_view *view,
                          const struct top_facts *facts, struct err *err)
{
    struct picture picture = {.canvas = canvas, .view = view, .facts = facts};
    struct top_rows rows;
    int result = top_rows_build(view, facts->recording, facts->live, &rows, err);
    unsigned shown = rows.count < limit ? rows.count : limit;
    if (result == 0)
        result = canvas_resize(canvas, 3 + shown + (shown ? 1 : 2), columns, err);
    if (result == 0) {
        draw_title(&picture);
        draw_facts(&picture);
        draw_heading(&picture);
        draw_rows(&picture, &rows, shown ? shown : 1);
    }
    top_rows_clear(&rows);
    return result;
}
