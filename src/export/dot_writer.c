#include "export/dot_writer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyse/callgraph.h"
#include "base/bytes.h"
#include "base/err.h"
#include "export/dot_text.h"
#include "export/drawing.h"
#include "export/heat.h"

#define FONT                "Helvetica,Arial,sans-serif"
#define MULTIPLICATION_SIGN "\xc3\x97"
#define ARROW               "\xe2\x86\x92"
#define TOOLTIP_NAME_MAX    200 /* characters */
#define FORMAT_BYTES_MAX    32
#define TIME_TEXT_MAX       128

struct writer {
    const struct dot_writer_style *style;
    const struct callgraph *before; /* whose cycles are drawn */
    bool comparing;
    bool sampled;              /* no calls are known */
    double largest_difference; /* share, among the functions drawn */
    struct bytes *out;
    struct bytes text; /* the label or tooltip being made */
};

/* ---- measures ---- */

/* Behind at most two digits: a precision of a thousand million would be taken at its word. */
static const char *skip_digits(const char *at)
{
    size_t count = strspn(at, "0123456789");

    return at + (count > 2 ? 2 : count);
}

int dot_writer_check_format(const char *format, struct err *err)
{
    unsigned conversions = 0;

    for (const char *at = format; *at; at++) {
        if (*at != '%')
            continue;
        if (at[1] == '%') {
            at++;
            continue;
        }
        at = skip_digits(at + 1 + strspn(at + 1, "-+ #0"));
        if (*at == '.')
            at = skip_digits(at + 1);
        if (!*at || !strchr("eEfFgG", *at))
            return err_set(err, "time format '%s': only %%f, %%e or %%g can be used, as in '%%.3f s'",
                           format);
        conversions++;
    }
    if (conversions != 1 || strlen(format) > FORMAT_BYTES_MAX)
        return err_set(err,
                       "time format '%s' must hold one number, as in '%%.3f s', in at most %d characters",
                       format, FORMAT_BYTES_MAX);
    return 0;
}

static void put_time(const struct writer *writer, struct bytes *out, double seconds)
{
    char text[TIME_TEXT_MAX];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(text, sizeof text, writer->style->time_format, seconds); /* dot_writer_check_format saw it */
#pragma GCC diagnostic pop
    dot_text_put_visible(out, text, sizeof text);
}

/* Billions of the measure's unit: seconds, or bytes and blocks as people read them. */
static void put_amount(const struct writer *writer, struct bytes *out, double billions)
{
    enum measure measure = writer->before->measure;
    if (measure_is_memory(measure))
        bytes_put_text(out, measure_quantity(measure, (uint64_t)(billions * 1e9 + 0.5)).text);
    else
        put_time(writer, out, billions);
}

static bool is_share(enum dot_writer_measure measure)
{
    return measure == DOT_WRITER_SELF_SHARE || measure == DOT_WRITER_TOTAL_SHARE;
}

static bool is_self(enum dot_writer_measure measure)
{
    return measure == DOT_WRITER_SELF_TIME || measure == DOT_WRITER_SELF_SHARE;
}

/* In percent, or billions of the unit: seconds. */
static double value_of(const struct callgraph_function *function, enum dot_writer_measure measure)
{
    switch (measure) {
    case DOT_WRITER_SELF_TIME:
        return (double)function->self / 1e9;
    case DOT_WRITER_SELF_SHARE:
        return function->self_share * 100;
    case DOT_WRITER_TOTAL_TIME:
        return (double)function->total / 1e9;
    case DOT_WRITER_TOTAL_SHARE:
        return function->total_share * 100;
    }
    return 0;
}

static void put_measure(struct writer *writer, const struct callgraph_function *function,
                        enum dot_writer_measure measure)
{
    bytes_put_text(&writer->text, is_self(measure) ? "\n(" : "\n");
    if (is_share(measure))
        bytes_putf(&writer->text, "%.2f%%", value_of(function, measure));
    else
        put_amount(writer, &writer->text, value_of(function, measure));
    bytes_put_text(&writer->text, is_self(measure) ? ")" : "");
}

/* ---- comparing ---- */

/* How much more of its run the function takes in the second: in shares, 0 when it is not to be shown. */
static double difference_of(const struct writer *writer, const struct drawing_function *function)
{
    if (!function->before || !function->after)
        return 0;
    double difference = function->after->total_share - function->before->total_share;
    if (fabs(difference) * 100 < writer->style->tolerance)
        return 0;
    if ((difference < 0 && writer->style->only_slower) || (difference > 0 && writer->style->only_faster))
        return 0;
    return difference;
}

static void find_largest_difference(struct writer *writer, const struct drawing *drawing)
{
    for (uint32_t i = 0; i < drawing->function_count; i++)
        writer->largest_difference =
            fmax(writer->largest_difference, fabs(difference_of(writer, &drawing->functions[i])));
}

/* As many decimals as the tolerance has. */
static int decimals(double tolerance)
{
    double digits = tolerance > 0 ? -floor(log10(tolerance)) : 3;

    return digits < 0 ? 0 : digits > 9 ? 9 : (int)digits;
}

static void put_difference(struct writer *writer, const struct drawing_function *function,
                           enum dot_writer_measure measure)
{
    double change = value_of(function->after, measure) - value_of(function->before, measure);

    if (!is_share(measure)) {
        bytes_put_text(&writer->text, change < 0 ? " -" : " +");
        put_amount(writer, &writer->text, fabs(change));
        return;
    }
    bool shown =
        is_self(measure) ? fabs(change) >= writer->style->tolerance : difference_of(writer, function) != 0;
    if (shown)
        bytes_putf(&writer->text, " %c%.*f%%", change < 0 ? '-' : '+', decimals(writer->style->tolerance),
                   fabs(change));
}

/* ---- labels ---- */

static const struct callgraph_function *main_side(const struct drawing_function *function)
{
    return function->before ? function->before : function->after;
}

static void put_name(struct writer *writer, const struct callgraph_function *function)
{
    struct bytes stripped = {0}, visible = {0};
    const char *name = function->name;

    if (writer->style->strip) {
        bytes_put(&stripped, name, function->function_at);
        dot_text_put_stripped(&stripped, name + function->function_at);
        bytes_put_u8(&stripped, 0);
        if (!stripped.failed)
            name = (const char *)stripped.data;
    }
    size_t length = writer->style->name_length;
    dot_text_put_visible(&visible, name, length ? length : DOT_TEXT_NAME_MAX);
    bytes_put_u8(&visible, 0);
    if (visible.failed)
        writer->text.failed = true;
    else if (writer->style->wrap)
        dot_text_put_wrapped(&writer->text, (const char *)visible.data);
    else
        bytes_put_text(&writer->text, (const char *)visible.data);
    bytes_clear(&stripped);
    bytes_clear(&visible);
}

static void put_calls(struct writer *writer, const char *lead, const uint64_t *before, const uint64_t *after)
{
    const uint64_t *first = before ? before : after;

    if (writer->sampled)
        return;
    bytes_putf(&writer->text, "%s%llu" MULTIPLICATION_SIGN, lead, (unsigned long long)*first);
    if (before && after)
        bytes_putf(&writer->text, " / %llu" MULTIPLICATION_SIGN, (unsigned long long)*after);
}

static void put_node_label(struct writer *writer, const struct drawing_function *function)
{
    const struct callgraph_function *before = function->before, *after = function->after;

    put_name(writer, main_side(function));
    if (writer->comparing && (!before || !after))
        bytes_put_text(&writer->text, before ? "\ngone" : "\nnew");
    for (size_t i = 0; i < writer->style->measure_count; i++) {
        put_measure(writer, main_side(function), writer->style->measures[i]);
        if (before && after)
            put_difference(writer, function, writer->style->measures[i]);
    }
    put_calls(writer, "\n", before ? &before->calls : NULL, after ? &after->calls : NULL);
}

static void put_edge_label(struct writer *writer, const struct drawing_call *call)
{
    const struct callgraph_call *before = call->before, *after = call->after;

    /* The spaces keep the text clear of a thick arrow. */
    bytes_putf(&writer->text, "  %.2f%%", (before ? before : after)->total_share * 100);
    if (before && after)
        bytes_putf(&writer->text, " / %.2f%%", after->total_share * 100);
    put_calls(writer, "\n  ", before ? &before->calls : NULL, after ? &after->calls : NULL);
}

static void put_node_tooltip(struct writer *writer, const struct callgraph_function *function)
{
    dot_text_put_visible(&writer->text, function->file, DOT_TEXT_NAME_MAX);
    if (function->line)
        bytes_putf(&writer->text, ":%u", function->line);
    if (measure_is_memory(writer->before->measure))
        bytes_putf(&writer->text, "\n%s in total, %s of its own",
                   measure_quantity(writer->before->measure, function->total).text,
                   measure_quantity(writer->before->measure, function->self).text);
    else
        bytes_putf(&writer->text, "\n%.9g s in total, %.9g s of its own", (double)function->total / 1e9,
                   (double)function->self / 1e9);
    if (function->primitive_calls != function->calls)
        bytes_putf(&writer->text, "\n%llu of the calls were recursive",
                   (unsigned long long)(function->calls - function->primitive_calls));
    if (function->cycle && !writer->comparing) {
        const struct callgraph_cycle *cycle = &writer->before->cycles[function->cycle];
        bytes_putf(&writer->text, "\nin a cycle of %u functions that takes %.2f%%", cycle->function_count,
                   cycle->total_share * 100);
    }
}

static void put_edge_tooltip(struct writer *writer, const struct drawing *drawing,
                             const struct drawing_call *call)
{
    dot_text_put_visible(&writer->text, main_side(&drawing->functions[call->caller])->name, TOOLTIP_NAME_MAX);
    bytes_put_text(&writer->text, " " ARROW " ");
    dot_text_put_visible(&writer->text, main_side(&drawing->functions[call->callee])->name, TOOLTIP_NAME_MAX);
}

/* ---- dot ---- */

/* Ends a label or tooltip: writes it quoted after `name`. */
static void write_text(struct writer *writer, const char *name)
{
    bytes_putf(writer->out, "%s=", name);
    dot_text_put_quoted(writer->out, (const char *)writer->text.data, writer->text.size);
    if (writer->text.failed)
        writer->out->failed = true;
    bytes_reset(&writer->text);
}

static double node_weight(const struct writer *writer, const struct drawing_function *function)
{
    if (!writer->comparing || !writer->style->color_by_difference)
        return main_side(function)->weight;
    double largest = writer->largest_difference;
    return largest > 0 ? fabs(difference_of(writer, function)) / largest : 0;
}

/* A comparison's node points right when the function takes more of the second run, left when less. */
static void write_shape(struct writer *writer, const struct drawing_function *function)
{
    double difference = difference_of(writer, function);

    if (difference > 0)
        bytes_put_text(writer->out, ", shape=rarrow, margin=\"0.2,0.08\"");
    else if (difference < 0)
        bytes_put_text(writer->out, ", shape=larrow, margin=\"0.2,0.08\"");
    else if (!function->before || !function->after)
        bytes_put_text(writer->out, ", style=\"rounded,dashed\", fontcolor=\"#000000\"");
}

static void write_node(struct writer *writer, const struct drawing_function *function, uint32_t number)
{
    const struct heat_theme *theme = writer->style->theme;
    double weight = node_weight(writer, function);
    uint32_t color = heat_color(theme, writer->style->skew, weight);

    bytes_putf(writer->out, "\t%u [", number);
    put_node_label(writer, function);
    write_text(writer, "label");
    bytes_putf(writer->out, ", color=\"#%06x\", fontcolor=\"#%06x\", fontsize=%.2f, ", color,
               theme->filled ? heat_text_on(color) : heat_text_like(color), heat_points(theme, weight));
    put_node_tooltip(writer, main_side(function));
    write_text(writer, "tooltip");
    if (writer->comparing)
        write_shape(writer, function);
    bytes_put_text(writer->out, "];\n");
}

/* The calls that close a circle: inside a cycle, to a function that is as hot or hotter. */
static bool is_recursive(const struct drawing *drawing, const struct drawing_call *call)
{
    const struct callgraph_function *caller = main_side(&drawing->functions[call->caller]);
    const struct callgraph_function *callee = main_side(&drawing->functions[call->callee]);
    bool together = call->before && caller->cycle && caller->cycle == callee->cycle;

    return call->caller == call->callee || (together && callee->total >= caller->total);
}

static void write_edge(struct writer *writer, const struct drawing *drawing, const struct drawing_call *call)
{
    const struct dot_writer_style *style = writer->style;
    double weight = (call->before ? call->before : call->after)->total_share;
    if (writer->comparing && style->color_by_difference)
        weight = 0;
    uint32_t color = heat_color(style->theme, style->skew, weight);
    double pen = heat_pen(style->theme, weight);

    bytes_putf(writer->out, "\t%u -> %u [", call->caller, call->callee);
    put_edge_label(writer, call);
    write_text(writer, "label");
    bytes_putf(writer->out,
               ", color=\"#%06x\", fontcolor=\"#%06x\", fontsize=%.2f, penwidth=%.2f, labeldistance=%.2f, "
               "arrowsize=%.2f, weight=%u%s, ",
               color, heat_text_like(color), heat_points(style->theme, weight), pen, pen, 0.5 * sqrt(pen),
               1 + (unsigned)(weight * 20), is_recursive(drawing, call) ? ", style=dashed" : "");
    put_edge_tooltip(writer, drawing, call);
    write_text(writer, "tooltip");
    put_edge_tooltip(writer, drawing, call);
    bytes_put_text(writer->out, ", ");
    write_text(writer, "labeltooltip");
    bytes_put_text(writer->out, "];\n");
}

static void write_head(struct writer *writer)
{
    bool filled = writer->style->theme->filled;

    bytes_put_text(writer->out, "digraph sonde {\n");
    bytes_putf(writer->out, "\tgraph [fontname=\"" FONT "\", ranksep=0.3, nodesep=0.15, tooltip=\" \"");
    if (writer->style->title) {
        dot_text_put_visible(&writer->text, writer->style->title, DOT_TEXT_NAME_MAX);
        bytes_put_text(writer->out, ", fontsize=14, labelloc=t, ");
        write_text(writer, "label");
    }
    bytes_put_text(writer->out, "];\n");
    bytes_putf(writer->out,
               "\tnode [fontname=\"" FONT
               "\", shape=box, style=\"%s\", width=0, height=0, margin=\"0.12,0.06\"];\n",
               filled ? "filled,rounded" : "rounded");
    bytes_put_text(writer->out, "\tedge [fontname=\"" FONT "\"];\n");
}

int dot_writer_write(const struct callgraph *before, const struct callgraph *after,
                     const struct dot_writer_style *style, struct bytes *out, struct err *err)
{
    struct writer writer = {.style = style, .before = before, .comparing = after != NULL, .out = out};
    writer.sampled = !before->total_calls && !(after && after->total_calls);
    struct drawing drawing = {0};

    if (drawing_make(before, after, &drawing, err) != 0)
        return -1;
    find_largest_difference(&writer, &drawing);
    write_head(&writer);
    for (uint32_t i = 0; i < drawing.function_count; i++)
        write_node(&writer, &drawing.functions[i], i);
    for (uint32_t i = 0; i < drawing.call_count; i++)
        write_edge(&writer, &drawing, &drawing.calls[i]);
    bytes_put_text(out, "}\n");
    bytes_clear(&writer.text);
    drawing_clear(&drawing);
    return out->failed ? err_set(err, "out of memory while writing the call graph") : 0;
}
