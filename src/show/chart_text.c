#include "show/chart_text.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/chart.h"
#include "base/bytes.h"
#include "base/err.h"
#include "show/canvas.h"
#include "show/terminal.h"

#define AXIS_COLUMNS 10 /* texts of the value axis */
#define COLUMNS_MIN  40
#define ROWS_MIN     5 /* of a panel */
#define MARK_COLUMNS 12
#define BRAILLE      0x2800
#define CURVE_STYLE  CANVAS_STYLES /* of the first curve; the others' follow */
#define COLORS       6
#define LEVELS_MAX   6 /* of functions */

static const char signs[] = "*+ox#%@&";

/* One panel being drawn. The plot is what lies right of the axis and above the time axis. */
struct plot {
    const struct chart *chart;
    const struct chart_panel *panel;
    struct canvas canvas;
    unsigned left, columns, rows; /* of the plot */
    bool dots;                    /* Braille: two dots across and four down in each cell */
    unsigned across, down;
};

unsigned chart_text_time_marks(unsigned columns)
{
    return columns > COLUMNS_MIN ? (columns - AXIS_COLUMNS) / MARK_COLUMNS : 2;
}

/* ---- curves ---- */

static unsigned place(double share, unsigned cells)
{
    double at = floor(share * cells);
    return at < 0 ? 0 : at >= cells ? cells - 1 : (unsigned)at;
}

static unsigned dot_column(const struct plot *plot, double time_s)
{
    return place(axis_share(&plot->chart->time, time_s), plot->columns * plot->across);
}

static unsigned dot_row(const struct plot *plot, double value)
{
    return place(1 - axis_share(&plot->panel->axis, value), plot->rows * plot->down);
}

static void put_dot(struct plot *plot, uint32_t curve, unsigned x, unsigned y)
{
    static const uint8_t bits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    unsigned column = plot->left + x / plot->across, row = y / plot->down;
    struct canvas_cell *cell = &plot->canvas.cells[(size_t)row * plot->canvas.columns + column];
    uint32_t character = (unsigned char)signs[curve % (sizeof signs - 1)];
    if (plot->dots) {
        bool mine = cell->character >= BRAILLE && cell->character < BRAILLE + 256;
        character = (mine ? cell->character : BRAILLE) | bits[y % 4][x % 2];
    }
    *cell = (struct canvas_cell){character, CURVE_STYLE + curve % COLORS};
}

static void put_piece(struct plot *plot, uint32_t curve, const struct chart_point *from,
                      const struct chart_point *to)
{
    int x = (int)dot_column(plot, from->time_s), y = (int)dot_row(plot, from->value);
    int across = (int)dot_column(plot, to->time_s) - x, down = (int)dot_row(plot, to->value) - y;
    int steps = abs(across) > abs(down) ? abs(across) : abs(down);
    put_dot(plot, curve, (unsigned)x, (unsigned)y);
    for (int i = 1; i <= steps; i++)
        put_dot(plot, curve, (unsigned)(x + (int)lround((double)across * i / steps)),
                (unsigned)(y + (int)lround((double)down * i / steps)));
}

static int put_curve(struct plot *plot, uint32_t at, struct err *err)
{
    uint32_t count;
    struct chart_point *points =
        chart_thin(plot->chart, &plot->chart->curves[at], plot->columns * plot->across, &count, err);
    if (!points)
        return -1;
    for (uint32_t i = 0; i < count; i++)
        put_piece(plot, at, &points[i], &points[i + 1 < count ? i + 1 : i]);
    free(points);
    return 0;
}

static void put_peak(struct plot *plot)
{
    if (plot->panel->highest == UINT32_MAX)
        return;
    const struct chart_point *peak = &plot->chart->curves[plot->panel->highest].peak;
    unsigned column = plot->left + dot_column(plot, peak->time_s) / plot->across;
    unsigned row = dot_row(plot, peak->value) / plot->down;
    struct bytes text = {0};
    chart_put_value(plot->panel, peak->value, &text);
    bytes_put_u8(&text, 0);
    const char *words = text.failed ? "" : (const char *)text.data;
    unsigned width = canvas_columns(words), above = row ? row - 1 : 0;
    unsigned start = column + width > plot->canvas.columns ? plot->canvas.columns - width : column;
    canvas_put(&plot->canvas, row, column, CANVAS_BOLD, plot->canvas.ascii ? "^" : "▲");
    if (row)
        canvas_put(&plot->canvas, above, start, CANVAS_BOLD, words);
    bytes_clear(&text);
}

/* ---- axes ---- */

static void put_value_axis(struct plot *plot)
{
    const struct axis *axis = &plot->panel->axis;
    unsigned count = axis_count(axis), last = UINT32_MAX;
    for (unsigned row = 0; row < plot->rows; row++)
        canvas_put(&plot->canvas, row, plot->left - 1, CANVAS_DIM, plot->canvas.ascii ? "|" : "│");
    for (unsigned i = count; i-- > 0;) { /* from above; marks that fall into one row are one */
        double value = axis_first(axis) + i * axis->step;
        unsigned row = dot_row(plot, value) / plot->down;
        const char *text = axis_text(axis, fabs(value) < axis->step / 2 ? 0 : value).text;
        if (row == last)
            continue;
        unsigned width = canvas_columns(text);
        canvas_put(&plot->canvas, row, plot->left - 1, CANVAS_DIM, plot->canvas.ascii ? "+" : "┤");
        canvas_put(&plot->canvas, row, width + 2 > plot->left ? 0 : plot->left - 2 - width, CANVAS_PLAIN,
                   text);
        last = row;
    }
}

static void put_time_line(struct plot *plot)
{
    canvas_put(&plot->canvas, plot->rows, plot->left - 1, CANVAS_DIM, plot->canvas.ascii ? "+" : "└");
    for (unsigned column = 0; column < plot->columns; column++)
        canvas_put(&plot->canvas, plot->rows, plot->left + column, CANVAS_DIM,
                   plot->canvas.ascii ? "-" : "─");
}

static void put_time_axis(struct plot *plot)
{
    const struct axis *axis = &plot->chart->time;
    unsigned count = axis_count(axis), free_from = 0;
    for (unsigned i = 0; i < count; i++) {
        double time_s = axis_first(axis) + i * axis->step;
        struct quantity text = axis_text(axis, fabs(time_s) < axis->step / 2 ? 0 : time_s);
        unsigned column = plot->left + dot_column(plot, time_s) / plot->across,
                 width = canvas_columns(text.text);
        unsigned start = column > width / 2 ? column - width / 2 : 0;
        if (start + width > plot->canvas.columns)
            start = plot->canvas.columns - width;
        if (start < free_from)
            continue;
        canvas_put(&plot->canvas, plot->rows, column, CANVAS_DIM, plot->canvas.ascii ? "+" : "┬");
        free_from = canvas_put(&plot->canvas, plot->rows + 1, start, CANVAS_PLAIN, text.text) + 1;
    }
}

/* ---- functions ---- */

static void put_span(struct plot *plot, const struct chart_span *span, unsigned row)
{
    unsigned from = plot->left + dot_column(plot, span->start_s) / plot->across;
    unsigned to = plot->left + dot_column(plot, span->end_s) / plot->across;
    enum canvas_style style = CURVE_STYLE + (span->function + 1) % COLORS;
    if (to == from) {
        canvas_put(&plot->canvas, row, from, style, "|");
        return;
    }
    for (unsigned column = from + 1; column < to; column++)
        canvas_put(&plot->canvas, row, column, style, plot->canvas.ascii ? "-" : "─");
    const char *name = chart_function_name(plot->chart, span->function);
    if (canvas_columns(name) > to - from - 1)
        name = chart_function_short_name(plot->chart, span->function);
    if (to - from > 4)
        canvas_put_fit(&plot->canvas, row, from + 1, to - from - 1, style, name);
    canvas_put(&plot->canvas, row, from, style, span->cut_start ? "<" : "[");
    canvas_put(&plot->canvas, row, to, style, span->cut_end ? ">" : "]");
}

/* Rows of functions below the axis: those of one file, as deep as there is room. */
static unsigned levels_of(const struct chart *chart)
{
    unsigned levels = chart->span_count ? chart->files[chart->spans[0].file].lanes : 0;
    return levels < LEVELS_MAX ? levels : LEVELS_MAX;
}

static void put_functions(struct plot *plot)
{
    const struct chart *chart = plot->chart;
    unsigned levels = levels_of(chart);
    for (uint32_t i = 0; i < chart->span_count; i++)
        if (chart->spans[i].level < levels && chart->spans[i].file == chart->spans[0].file)
            put_span(plot, &chart->spans[i], plot->rows + 2 + chart->spans[i].level);
}

/* ---- output ---- */

static void put_style(const struct chart_text_style *style, uint32_t kind, struct bytes *out)
{
    static const int colors[COLORS] = {94, 33, 32, 35, 36, 31};
    if (!style->color)
        return;
    if (kind >= CURVE_STYLE)
        bytes_putf(out, "\033[0;%dm", colors[kind - CURVE_STYLE]);
    else
        bytes_put_text(out, kind == CANVAS_BOLD ? "\033[0;1m" : kind == CANVAS_DIM ? "\033[0;2m" : "\033[0m");
}

static void put_row(const struct chart_text_style *style, const struct canvas_cell *cells, unsigned columns,
                    struct bytes *out)
{
    uint32_t now = CANVAS_PLAIN;
    while (columns && cells[columns - 1].character == ' ')
        columns--;
    for (unsigned i = 0; i < columns; i++) {
        char text[5];
        if (cells[i].style != now && cells[i].character != ' ')
            put_style(style, now = cells[i].style, out);
        canvas_encode(cells[i].character, text);
        bytes_put_text(out, text);
    }
    if (now != CANVAS_PLAIN)
        put_style(style, CANVAS_PLAIN, out);
    bytes_put_u8(out, '\n');
}

static int put_panel(const struct chart *chart, uint32_t at, const struct chart_text_style *style,
                     unsigned columns, struct bytes *out, struct err *err)
{
    bool last = at + 1 == chart->panel_count, alone = chart->curve_count == 1;
    unsigned rows = style->rows / chart->panel_count;
    struct plot plot = {.chart = chart, .panel = &chart->panels[at], .left = AXIS_COLUMNS + 2};
    plot.columns = columns - plot.left;
    plot.rows = rows < ROWS_MIN ? ROWS_MIN : rows;
    plot.dots = !style->ascii && (alone || style->color);
    plot.across = plot.dots ? 2 : 1;
    plot.down = plot.dots ? 4 : 1;
    plot.canvas.ascii = style->ascii;
    if (canvas_resize(&plot.canvas, plot.rows + (last ? 2 + levels_of(chart) : 1), columns, err) != 0)
        return -1;
    put_value_axis(&plot);
    put_time_line(&plot);
    int result = 0;
    for (uint32_t i = 0; i < chart->curve_count && result == 0; i++)
        if (chart->curves[i].panel == at)
            result = put_curve(&plot, i, err);
    put_peak(&plot);
    if (last) {
        put_time_axis(&plot);
        put_functions(&plot);
    }
    for (unsigned row = 0; row < plot.canvas.rows; row++)
        put_row(style, &plot.canvas.cells[(size_t)row * columns], columns, out);
    canvas_clear(&plot.canvas);
    return result;
}

/* What the curve's line in the legend begins with. */
static void put_swatch(const struct chart *chart, const struct chart_text_style *style, uint32_t at,
                       struct bytes *out)
{
    bool dots = !style->ascii && (chart->curve_count == 1 || style->color);
    char sign[3] = {signs[at % (sizeof signs - 1)], ' ', '\0'};
    put_style(style, CURVE_STYLE + at % COLORS, out);
    bytes_put_text(out, dots ? "━━" : sign);
    put_style(style, CANVAS_PLAIN, out);
    bytes_put_u8(out, ' ');
}

static void put_legend(const struct chart *chart, const struct chart_text_style *style, struct bytes *out)
{
    struct terminal terminal = {.width = style->columns, .color = style->color};
    bool many = chart->curve_count > CHART_NAMED_MAX;
    uint32_t named = many ? CHART_NAMED_MAX - 1 : chart->curve_count;
    for (uint32_t i = 0; i < named; i++) {
        struct bytes text = {0};
        bytes_putf(&text, "%s: ", chart->curves[i].label);
        chart_put_peak(chart, &chart->curves[i], &text);
        if (chart->curves[i].trend.found) {
            bytes_put_text(&text, "; ");
            chart_put_slope(chart, &chart->curves[i], &text);
        }
        bytes_put_u8(&text, 0);
        put_swatch(chart, style, i, out);
        terminal_wrap(&terminal, text.failed ? "" : (const char *)text.data, 3, 3, out);
        bytes_clear(&text);
    }
    if (many)
        bytes_putf(out, "   and %u more\n", chart->curve_count - named);
}

/* What is not ASCII is words from recordings, or the micro sign. */
static void make_ascii(struct bytes *out, size_t from)
{
    size_t kept = from;
    for (size_t i = from; i < out->size; i++) {
        bool continues = (out->data[i] & 0xc0) == 0x80;
        bool micro = out->data[i] == 0xc2 && i + 1 < out->size && out->data[i + 1] == 0xb5;
        if (!continues)
            out->data[kept++] = micro ? 'u' : out->data[i] < 0x80 ? out->data[i] : '?';
    }
    out->size = kept;
}

int chart_text_put(const struct chart *chart, const struct chart_text_style *style, struct bytes *out,
                   struct err *err)
{
    unsigned columns = style->columns < COLUMNS_MIN ? COLUMNS_MIN : style->columns;
    size_t start = out->size;
    put_style(style, CANVAS_BOLD, out);
    terminal_put(style->title, out);
    put_style(style, CANVAS_PLAIN, out);
    bytes_put_u8(out, '\n');
    for (uint32_t i = 0; i < chart->panel_count; i++) {
        bytes_putf(out, "%*s", AXIS_COLUMNS + 2, "");
        terminal_put(chart->panels[i].title, out);
        bytes_put_text(out, chart->panels[i].rate ? ", each second\n" : "\n");
        if (put_panel(chart, i, style, columns, out, err) != 0)
            return -1;
    }
    put_legend(chart, style, out);
    if (style->ascii && !out->failed)
        make_ascii(out, start);
    return out->failed ? err_set(err, "out of memory for the plot") : 0;
}
