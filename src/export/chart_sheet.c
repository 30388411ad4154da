#include "export/chart_sheet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/chart.h"
#include "base/bytes.h"
#include "base/err.h"
#include "export/chart_functions.h"
#include "export/chart_look.h"
#include "export/letters.h"
#include "export/sheet.h"

#define MARGIN            24
#define AXIS_WIDTH        70 /* for the texts of the value axis */
#define TITLE_HEIGHT      46
#define PANEL_GAP         30  /* with the panel's title in it */
#define PANEL_MIN         110 /* height */
#define AXIS_HEIGHT       30  /* for the texts of the time axis */
#define ROW               19  /* of the legend */
#define SWATCH            24
#define MARK_WIDTH        90 /* of a text at the time axis */
#define COLUMNS_PER_PIXEL 2

static const struct sheet_pen dotted = {.width = 1, .opacity = 1, .dash = 4, .gap = 4};

unsigned chart_sheet_time_marks(const struct chart_style *style)
{
    double marks = (style->width - 2 * MARGIN - AXIS_WIDTH) / MARK_WIDTH;
    return marks < 2 ? 2 : (unsigned)marks;
}

/* ---- text that is put together ---- */

static const char *ended(struct bytes *text)
{
    bytes_put_u8(text, 0);
    return text->failed ? "" : (const char *)text->data;
}

/* ---- curves ---- */

static struct sheet_pen curve_pen(const struct chart_look *look, uint32_t curve)
{
    static const double dashes[] = {0, 8, 3};
    double dash = dashes[curve / CHART_LOOK_COLORS % 3];
    return (struct sheet_pen){.color = look->colors[curve % CHART_LOOK_COLORS],
                              .width = 1.8,
                              .opacity = 1,
                              .dash = dash,
                              .gap = dash};
}

/* From the curve down, or up, to zero or the panel's edge. */
static void put_fill(struct chart_frame *frame, const struct chart_panel_box *box, uint32_t color,
                     struct sheet_point *points, uint32_t count)
{
    double zero = fmin(fmax(0, box->panel->axis.low), box->panel->axis.high);
    points[count] = (struct sheet_point){points[count - 1].x, chart_look_y(box, zero)};
    points[count + 1] = (struct sheet_point){points[0].x, chart_look_y(box, zero)};
    sheet_area(frame->sheet, color, 0.12, points, count + 2);
}

static int put_curve(struct chart_frame *frame, const struct chart_panel_box *box, uint32_t at, bool filled,
                     struct err *err)
{
    const struct chart_curve *curve = &frame->chart->curves[at];
    struct sheet_pen pen = curve_pen(frame->look, at);
    uint32_t count;
    unsigned columns = (unsigned)(frame->right - frame->left) * COLUMNS_PER_PIXEL;
    struct chart_point *thin = chart_thin(frame->chart, curve, columns, &count, err);
    struct sheet_point *points = malloc(((size_t)count + 2) * sizeof *points);
    if (thin && points && count) {
        for (uint32_t i = 0; i < count; i++)
            points[i] =
                (struct sheet_point){chart_look_x(frame, thin[i].time_s), chart_look_y(box, thin[i].value)};
        if (filled)
            put_fill(frame, box, pen.color, points, count);
        sheet_name(frame->sheet, curve->label);
        if (count == 1)
            pen.width = 5; /* a dot that can be seen */
        sheet_line(frame->sheet, pen, points, count);
        sheet_name(frame->sheet, NULL);
    }
    free(thin);
    free(points);
    return thin && points ? 0 : err_set(err, "out of memory for the picture");
}

/* The line may leave the panel where the curve does not. */
static void put_trend(struct chart_frame *frame, const struct chart_panel_box *box, uint32_t at)
{
    const struct trend *trend = &frame->chart->curves[at].trend;
    const struct axis *axis = &box->panel->axis;
    struct sheet_pen pen = curve_pen(frame->look, at);
    if (!trend->found)
        return;
    struct chart_point ends[] = {{trend->from_s, trend->from_value}, {trend->to_s, trend->to_value}};
    for (int i = 0; i < 2; i++) {
        double inside = fmin(fmax(ends[i].value, axis->low), axis->high);
        if (trend->per_second != 0)
            ends[i].time_s += (inside - ends[i].value) / trend->per_second;
        ends[i].value = inside;
    }
    pen.width = 1.2;
    pen.dash = 7;
    pen.gap = 4;
    if (ends[0].time_s < ends[1].time_s)
        sheet_segment(frame->sheet, pen, chart_look_x(frame, ends[0].time_s),
                      chart_look_y(box, ends[0].value), chart_look_x(frame, ends[1].time_s),
                      chart_look_y(box, ends[1].value));
}

static void put_peak(struct chart_frame *frame, const struct chart_panel_box *box)
{
    if (box->panel->highest == UINT32_MAX)
        return;
    const struct chart_point *peak = &frame->chart->curves[box->panel->highest].peak;
    double x = chart_look_x(frame, peak->time_s), y = chart_look_y(box, peak->value);
    bool right = x < (frame->left + frame->right) / 2;
    struct sheet_pen pen = dotted;
    struct bytes text = {0};
    pen.color = frame->look->peak;
    sheet_segment(frame->sheet, pen, frame->left, y, frame->right, y);
    sheet_segment(frame->sheet, pen, x, box->top, x, box->bottom);
    pen.dash = 0;
    pen.width = 6;
    sheet_line(frame->sheet, pen, &(struct sheet_point){x, y}, 1);
    chart_put_value(box->panel, peak->value, &text);
    bytes_putf(&text, " at %s", axis_value_text(AXIS_SECONDS, peak->time_s).text);
    const char *words = ended(&text);
    struct sheet_font font = {frame->look->peak, 12, false, right ? SHEET_START : SHEET_END};
    double width = letters_width(words, font.size), from = right ? x + 7 : x - 7 - width;
    sheet_box(frame->sheet, frame->look->background, 0.75, from - 2, y - 18, width + 4, 16);
    sheet_text(frame->sheet, font, right ? from : from + width, y - 6, words);
    bytes_clear(&text);
}

/* ---- panels ---- */

static void put_value_axis(struct chart_frame *frame, const struct chart_panel_box *box)
{
    const struct axis *axis = &box->panel->axis;
    struct sheet_font font = {frame->look->soft, 12, false, SHEET_END};
    struct sheet_font heading = {frame->look->soft, 12, true, SHEET_START};
    unsigned count = axis_count(axis);
    for (unsigned i = 0; i < count; i++) {
        double value = axis_first(axis) + i * axis->step;
        double y = round(chart_look_y(box, value));
        struct quantity text = axis_text(axis, fabs(value) < axis->step / 2 ? 0 : value);
        struct sheet_pen pen = {.color = frame->look->grid, .width = 1, .opacity = 1};
        sheet_segment(frame->sheet, pen, frame->left, y, frame->right, y);
        sheet_text(frame->sheet, font, frame->left - 8, y + 4, text.text);
    }
    struct bytes title = {0};
    bytes_putf(&title, "%s%s", box->panel->title, box->panel->rate ? ", each second" : "");
    sheet_text_fit(frame->sheet, heading, frame->left, box->top - 10, frame->right - frame->left,
                   ended(&title));
    bytes_clear(&title);
}

static void put_time_grid(struct chart_frame *frame, const struct chart_panel_box *box)
{
    const struct axis *axis = &frame->chart->time;
    unsigned count = axis_count(axis);
    for (unsigned i = 0; i < count; i++) {
        double x = round(chart_look_x(frame, axis_first(axis) + i * axis->step));
        struct sheet_pen pen = {.color = frame->look->grid, .width = 1, .opacity = 1};
        sheet_segment(frame->sheet, pen, x, box->top, x, box->bottom);
    }
}

static void put_time_axis(struct chart_frame *frame, double y)
{
    const struct axis *axis = &frame->chart->time;
    struct sheet_font font = {frame->look->soft, 12, false, SHEET_MIDDLE};
    unsigned count = axis_count(axis);
    for (unsigned i = 0; i < count; i++) {
        double time_s = axis_first(axis) + i * axis->step;
        sheet_text(frame->sheet, font, chart_look_x(frame, time_s), y + 18,
                   axis_text(axis, fabs(time_s) < axis->step / 2 ? 0 : time_s).text);
    }
}

static uint32_t curves_in(const struct chart *chart, uint32_t panel)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < chart->curve_count; i++)
        count += chart->curves[i].panel == panel;
    return count;
}

static int put_panel(struct chart_frame *frame, uint32_t at, double top, double bottom, struct err *err)
{
    const struct chart *chart = frame->chart;
    struct chart_panel_box box = {.panel = &chart->panels[at], .at = at, .top = top, .bottom = bottom};
    bool filled = curves_in(chart, at) == 1 && box.panel->axis.low <= 0;
    put_time_grid(frame, &box);
    put_value_axis(frame, &box);
    for (uint32_t i = 0; i < chart->curve_count; i++)
        if (chart->curves[i].panel == at && put_curve(frame, &box, i, filled, err) != 0)
            return -1;
    for (uint32_t i = 0; i < chart->curve_count; i++)
        if (chart->curves[i].panel == at)
            put_trend(frame, &box, i);
    if (!frame->flame)
        chart_functions_put_brackets(frame, &box);
    put_peak(frame, &box);
    return 0;
}

/* The first panel is twice as high as the others. */
static int put_panels(struct chart_frame *frame, double top, double bottom, struct err *err)
{
    uint32_t count = frame->chart->panel_count;
    double share = (bottom - top) / (count + 1);
    for (uint32_t i = 0; i < count; i++) {
        double height = i ? share : 2 * share;
        if (put_panel(frame, i, round(top) + PANEL_GAP, round(top + height), err) != 0)
            return -1;
        top += height;
    }
    return 0;
}

/* ---- the legend ---- */

static uint32_t rows_of(uint32_t count)
{
    return count > CHART_NAMED_MAX ? CHART_NAMED_MAX : count;
}

/* The row that says how many are not named; only when there are. */
static void put_more(struct chart_frame *frame, uint32_t count, double x, double y)
{
    struct sheet_font font = {frame->look->soft, 12, false, SHEET_START};
    struct bytes text = {0};
    bytes_putf(&text, "and %u more", count - (CHART_NAMED_MAX - 1));
    sheet_text(frame->sheet, font, x + SWATCH + 8, y, ended(&text));
    bytes_clear(&text);
}

static void put_curve_row(struct chart_frame *frame, uint32_t at, double y, double right)
{
    const struct chart_curve *curve = &frame->chart->curves[at];
    struct sheet_font font = {frame->look->ink, 12, false, SHEET_START};
    struct sheet_pen pen = curve_pen(frame->look, at);
    struct bytes peak = {0}, slope = {0};
    double x = MARGIN + SWATCH + 8;
    pen.width = 3;
    sheet_segment(frame->sheet, pen, MARGIN, y - 4, MARGIN + SWATCH, y - 4);
    chart_put_peak(frame->chart, curve, &peak);
    const char *words = ended(&peak);
    double room = fmax(right - x - letters_width(words, font.size) - 12, (right - x) / 2);
    sheet_text_fit(frame->sheet, font, x, y, room, curve->label);
    double after = x + fmin(letters_width(curve->label, font.size), room) + 12;
    font.color = frame->look->soft;
    sheet_text_fit(frame->sheet, font, after, y, right - after, words);
    if (curve->trend.found) {
        chart_put_slope(frame->chart, curve, &slope);
        sheet_text_fit(frame->sheet, font, x, y + ROW, right - x, ended(&slope));
    }
    bytes_clear(&peak);
    bytes_clear(&slope);
}

static void put_function_row(struct chart_frame *frame, uint32_t at, double x, double y)
{
    const struct chart_function *function = &frame->chart->functions[at];
    struct sheet_font font = {frame->look->ink, 12, false, SHEET_START};
    struct bytes text = {0};
    sheet_box(frame->sheet, chart_functions_color(frame, at), 1, x + SWATCH - 12, y - 10, 12, 12);
    bytes_putf(&text, "%s: %u×, %s", chart_function_name(frame->chart, at), function->count,
               axis_value_text(AXIS_SECONDS, function->total_s).text);
    sheet_text_fit(frame->sheet, font, x + SWATCH + 8, y, frame->sheet->width - MARGIN - x - SWATCH - 8,
                   ended(&text));
    bytes_clear(&text);
}

/* The lines of the legend that one curve takes: its slope has one of its own. */
static double curve_height(const struct chart_curve *curve)
{
    return curve->trend.found ? 2 * ROW : ROW;
}

static double legend_height(const struct chart *chart)
{
    double curves = 0;
    for (uint32_t i = 0; i < rows_of(chart->curve_count); i++)
        curves += curve_height(&chart->curves[i]);
    return fmax(curves, ROW * rows_of(chart->function_count)) + MARGIN;
}

static void put_curve_rows(struct chart_frame *frame, double y, double right)
{
    const struct chart *chart = frame->chart;
    for (uint32_t i = 0; i < rows_of(chart->curve_count); i++) {
        if (i == CHART_NAMED_MAX - 1 && chart->curve_count > CHART_NAMED_MAX)
            put_more(frame, chart->curve_count, MARGIN, y);
        else
            put_curve_row(frame, i, y, right);
        y += curve_height(&chart->curves[i]);
    }
}

static void put_legend(struct chart_frame *frame, double y)
{
    const struct chart *chart = frame->chart;
    uint32_t functions = rows_of(chart->function_count);
    double right = frame->sheet->width - MARGIN, split = functions ? MARGIN + (right - MARGIN) * 0.62 : right;
    put_curve_rows(frame, y, split - 12);
    for (uint32_t i = 0; i < functions; i++) {
        if (i == CHART_NAMED_MAX - 1 && chart->function_count > CHART_NAMED_MAX)
            put_more(frame, chart->function_count, split, y + ROW * i);
        else
            put_function_row(frame, i, split, y + ROW * i);
    }
}

/* ---- the whole ---- */

int chart_sheet_draw(const struct chart *chart, const struct chart_style *style, struct sheet *sheet,
                     struct err *err)
{
    const struct chart_look *look = chart_look_find(style->dark);
    double legend = legend_height(chart);
    struct chart_frame frame = {.sheet = sheet,
                                .chart = chart,
                                .look = look,
                                .flame = style->flame,
                                .left = MARGIN + AXIS_WIDTH,
                                .right = style->width - MARGIN};
    double lanes = style->flame ? chart_functions_lanes_height(chart) : 0;
    double least = TITLE_HEIGHT + lanes + AXIS_HEIGHT + legend + (chart->panel_count + 1) * PANEL_MIN;
    *sheet = (struct sheet){
        .width = style->width, .height = ceil(fmax(style->height, least)), .background = look->background};
    double bottom = sheet->height - legend - AXIS_HEIGHT;
    sheet_text_fit(sheet, (struct sheet_font){look->ink, 16, true, SHEET_START}, MARGIN, 32,
                   (style->width - 2 * MARGIN) * 0.93, style->title);
    int result = put_panels(&frame, TITLE_HEIGHT - 12, bottom - lanes, err);
    if (style->flame)
        chart_functions_put_lanes(&frame, bottom - lanes);
    put_time_axis(&frame, bottom);
    put_legend(&frame, bottom + AXIS_HEIGHT + 12);
    return result == 0 && sheet->failed ? err_set(err, "out of memory for the picture") : result;
}
