#include "export/chart_functions.h"

#include <math.h>
#include <stdlib.h>

#include "analyse/chart.h"
#include "analyse/chart_curve.h"
#include "base/bytes.h"
#include "export/heat.h"
#include "export/letters.h"
#include "export/sheet.h"

#define LANE         19
#define LANES_MAX    12
#define LANES_GAP    8
#define BRACKETS_MAX 2000
#define NARROW       0.4 /* pixels: below this only the first of a row is drawn */

uint32_t chart_functions_color(const struct chart_frame *frame, uint32_t function)
{
    return frame->look->colors[(function + 1) % CHART_LOOK_COLORS];
}

/* ---- brackets ---- */

static const struct chart_curve *first_curve(const struct chart *chart, uint32_t file)
{
    for (uint32_t i = 0; i < chart->curve_count; i++)
        if (chart->curves[i].file == file)
            return &chart->curves[i];
    return NULL;
}

/* The curve's height at that time; the points' own ends beyond them. */
static double value_at(const struct chart_curve *curve, double time_s)
{
    uint32_t low = chart_curve_first_at(curve, time_s);
    if (low == 0 || low == curve->count)
        return curve->points[low ? low - 1 : 0].value;
    const struct chart_point *before = &curve->points[low - 1], *after = &curve->points[low];
    double part = (time_s - before->time_s) / (after->time_s - before->time_s);
    return before->value + part * (after->value - before->value);
}

static void put_bracket(struct chart_frame *frame, uint32_t color, double x, double y, double inward)
{
    const struct sheet_point points[] = {{x + inward, y - 9}, {x, y - 9}, {x, y + 9}, {x + inward, y + 9}};
    sheet_line(frame->sheet, (struct sheet_pen){.color = color, .width = 2, .opacity = 1}, points, 4);
}

static void put_name(struct chart_frame *frame, const struct chart_span *span)
{
    struct bytes text = {0};
    bytes_putf(&text, "%s, %s", chart_function_name(frame->chart, span->function),
               axis_value_text(AXIS_SECONDS, span->end_s - span->start_s).text);
    bytes_put_u8(&text, 0);
    sheet_name(frame->sheet, text.failed ? NULL : (const char *)text.data);
    bytes_clear(&text);
}

void chart_functions_put_brackets(struct chart_frame *frame, const struct chart_panel_box *box)
{
    const struct chart *chart = frame->chart;
    for (uint32_t i = 0; i < chart->span_count && i < BRACKETS_MAX; i++) {
        const struct chart_span *span = &chart->spans[i];
        const struct chart_curve *curve = first_curve(chart, span->file);
        uint32_t color = chart_functions_color(frame, span->function);
        if (!curve || curve->panel != box->at || !curve->count)
            continue;
        put_name(frame, span);
        if (!span->cut_start)
            put_bracket(frame, color, chart_look_x(frame, span->start_s),
                        chart_look_y(box, value_at(curve, span->start_s)), 4);
        if (!span->cut_end)
            put_bracket(frame, color, chart_look_x(frame, span->end_s),
                        chart_look_y(box, value_at(curve, span->end_s)), -4);
    }
    sheet_name(frame->sheet, NULL);
}

/* ---- lanes ---- */

/* The lane in which a span lies: files below one another. LANES_MAX = none. */
static uint32_t lane_of(const struct chart *chart, const struct chart_span *span)
{
    uint32_t lane = span->level;
    for (uint32_t file = 0; file < span->file && lane < LANES_MAX; file++)
        lane += chart->files[file].lanes;
    return lane < LANES_MAX ? lane : LANES_MAX;
}

double chart_functions_lanes_height(const struct chart *chart)
{
    uint32_t lanes = 0;
    for (uint32_t file = 0; file < chart->file_count && lanes < LANES_MAX; file++)
        lanes += chart->files[file].lanes;
    return lanes ? LANES_GAP + LANE * (lanes < LANES_MAX ? lanes : LANES_MAX) : 0;
}

static void put_lane_name(struct chart_frame *frame, const struct chart_span *span, uint32_t color,
                          struct sheet_point at, double width)
{
    const char *name = chart_function_name(frame->chart, span->function);
    struct sheet_font font = {heat_text_on(color), 11, false, SHEET_START};
    if (letters_width(name, font.size) > width)
        name = chart_function_short_name(frame->chart, span->function);
    if (width > 16)
        sheet_text_fit(frame->sheet, font, at.x, at.y, width, name);
}

void chart_functions_put_lanes(struct chart_frame *frame, double top)
{
    const struct chart *chart = frame->chart;
    double drawn[LANES_MAX];
    for (int i = 0; i < LANES_MAX; i++)
        drawn[i] = -INFINITY;
    for (uint32_t i = 0; i < chart->span_count; i++) {
        const struct chart_span *span = &chart->spans[i];
        uint32_t lane = lane_of(chart, span), color = chart_functions_color(frame, span->function);
        double x = chart_look_x(frame, span->start_s), end = chart_look_x(frame, span->end_s);
        if (lane == LANES_MAX || end < drawn[lane] + NARROW)
            continue;
        drawn[lane] = end;
        double y = top + LANES_GAP + lane * LANE, width = fmax(end - x, NARROW);
        put_name(frame, span);
        sheet_box(frame->sheet, color, 1, x, y, width > 2 ? width - 0.5 : width, LANE - 2);
        put_lane_name(frame, span, color, (struct sheet_point){x + 4, y + 12.5}, width - 8);
    }
    sheet_name(frame->sheet, NULL);
}
