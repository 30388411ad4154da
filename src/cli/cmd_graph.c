/* sonde graph: a picture of who calls whom and where the time goes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/callgraph.h"
#include "analyse/native_stacks.h"
#include "analyse/prune.h"
#include "analyse/tree.h"
#include "base/bytes.h"
#include "base/err.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/picture.h"
#include "cli/selection_options.h"
#include "export/dot_text.h"
#include "export/dot_writer.h"
#include "export/heat.h"
#include "store/recording.h"

#define MEASURES_MAX       16
#define SLOW_PICTURE_NODES 2000 /* graphviz needs minutes from about here */

struct graph_values {
    const char *output, *format;
    const char *measure, *range;
    struct selection_part part;
    double node_threshold, edge_threshold;
    const char *root, *leaf;
    int64_t depth;
    struct option_list paths;
    const char *list_functions;
    const char *colormap;
    double skew;
    bool color_nodes_by_selftime, wrap, strip, show_samples;
    const char *time_format;
    struct option_list node_labels;
    bool compare;
    double tolerance;
    bool only_slower, only_faster, color_by_difference;
};

static const struct graph_values defaults = {
    .node_threshold = 0.5,
    .edge_threshold = 0.1,
    .depth = -1,
    .colormap = "color",
    .skew = 1,
    .time_format = "%.7g",
    .tolerance = 0.001,
};

static const char *const colormaps[] = {"color", "pink", "gray", "bw", "print", NULL};

#define FIELD(name) offsetof(struct graph_values, name)

static const struct option options[] = {
    {"output", 'o', OPTION_TEXT, "FILE", FIELD(output), NULL,
     "Write a picture (.svg, .png, .pdf) or the graph as text (.dot). Without it the text goes to standard "
     "output."},
    {"format", 'f', OPTION_TEXT, "FORMAT", FIELD(format), NULL,
     "What to write, whatever FILE is called: dot, svg, png or pdf. The name of a format that is read "
     "(pstats, "
     "sonde) is accepted too, and checked."},
    {"What is drawn", 0, OPTION_HEADING, NULL, 0, NULL, NULL},
    {"node-threshold", 'n', OPTION_REAL, "PERCENT", FIELD(node_threshold), NULL,
     "Leave out functions that take less of the total time than this."},
    {"edge-threshold", 'e', OPTION_REAL, "PERCENT", FIELD(edge_threshold), NULL,
     "Leave out calls that take less of the total time than this."},
    {"measure", 0, OPTION_CHOICE, "WHAT", FIELD(measure), measure_names, SELECTION_OPTIONS_MEASURE_HELP},
    {"range", 0, OPTION_TEXT, "A,B", FIELD(range), NULL, SELECTION_OPTIONS_RANGE_HELP},
    SELECTION_OPTIONS_PART(struct graph_values),
    {"root", 'z', OPTION_TEXT, "GLOB", FIELD(root), NULL,
     "Only what these functions call, directly or not. Names are module:line:function."},
    {"leaf", 'l', OPTION_TEXT, "GLOB", FIELD(leaf), NULL,
     "Only what calls these functions, directly or not."},
    {"depth", 0, OPTION_NUMBER, "N", FIELD(depth), NULL,
     "At most N calls away from the root, the leaf, or else from where the program starts."},
    {"path", 'p', OPTION_LIST, "PATH", FIELD(paths), NULL,
     "Only functions whose file begins with PATH. May be given several times."},
    {"list-functions", 0, OPTION_TEXT, "GLOB", FIELD(list_functions), NULL,
     "List the names of the functions instead, for use with --root and --leaf ('+' = all; a leading % adds "
     "their times and files)."},
    {"How it looks", 0, OPTION_HEADING, NULL, 0, NULL, NULL},
    {"node-label", 0, OPTION_LIST, "MEASURE", FIELD(node_labels), NULL,
     "What to show in a function's box: self-time, self-time-percentage, total-time or "
     "total-time-percentage. "
     "May be given several times."},
    {"time-format", 0, OPTION_TEXT, "FORMAT", FIELD(time_format), NULL,
     "How to write seconds, as in '%.3f s'."},
    {"show-samples", 0, OPTION_FLAG, NULL, FIELD(show_samples), NULL,
     "Show samples too; where there are none, calls are what is counted, and they are always shown."},
    {"colormap", 'c', OPTION_CHOICE, "NAME", FIELD(colormap), colormaps,
     "Colours: color, pink, gray, bw, or print (outlines only)."},
    {"skew", 0, OPTION_REAL, "FACTOR", FIELD(skew), NULL,
     "Below 1: more variety of colours among small percentages; above 1: less."},
    {"color-nodes-by-selftime", 0, OPTION_FLAG, NULL, FIELD(color_nodes_by_selftime), NULL,
     "Colour functions by their own time, not by that with what they call."},
    {"colour-nodes-by-selftime", 0, OPTION_FLAG, NULL, FIELD(color_nodes_by_selftime), NULL, NULL},
    {"wrap", 'w', OPTION_FLAG, NULL, FIELD(wrap), NULL, "Break long names into lines."},
    {"strip", 's', OPTION_FLAG, NULL, FIELD(strip), NULL,
     "Take parameters, template arguments and const away from C++ names."},
    {"Comparing two recordings", 0, OPTION_HEADING, NULL, 0, NULL, NULL},
    {"compare", 0, OPTION_FLAG, NULL, FIELD(compare), NULL,
     "Draw both of two recordings in one graph: boxes of functions that take more of the second run point "
     "right, of those that take less, left."},
    {"compare-tolerance", 0, OPTION_REAL, "PERCENT", FIELD(tolerance), NULL,
     "Differences below this are none."},
    {"compare-only-slower", 0, OPTION_FLAG, NULL, FIELD(only_slower), NULL,
     "Mark only functions that take more of the second run."},
    {"compare-only-faster", 0, OPTION_FLAG, NULL, FIELD(only_faster), NULL,
     "Mark only functions that take less of the second run."},
    {"compare-color-by-difference", 0, OPTION_FLAG, NULL, FIELD(color_by_difference), NULL,
     "Colour functions by how much they differ."},
    {NULL},
};

/* ---- options ---- */

static const struct {
    const char *name;
    enum dot_writer_measure measure;
} label_names[] = {
    {"self-time", DOT_WRITER_SELF_TIME},
    {"self-time-percentage", DOT_WRITER_SELF_SHARE},
    {"total-time", DOT_WRITER_TOTAL_TIME},
    {"total-time-percentage", DOT_WRITER_TOTAL_SHARE},
};

static int find_measure(const char *name, enum dot_writer_measure *measure, struct err *err)
{
    for (size_t i = 0; i < sizeof label_names / sizeof label_names[0]; i++)
        if (strcmp(label_names[i].name, name) == 0) {
            *measure = label_names[i].measure;
            return 0;
        }
    return err_set(err,
                   "--node-label: there is no measure '%s'; there are self-time, self-time-percentage, "
                   "total-time and total-time-percentage",
                   name);
}

static int choose_measures(const struct option_list *names, enum dot_writer_measure *measures, size_t *count,
                           struct err *err)
{
    static const enum dot_writer_measure usual[] = {DOT_WRITER_TOTAL_SHARE, DOT_WRITER_SELF_SHARE};

    if (names->count > MEASURES_MAX)
        return err_set(err, "--node-label was given more than %d times", MEASURES_MAX);
    *count = names->count;
    for (size_t i = 0; i < names->count; i++)
        if (find_measure(names->items[i], &measures[i], err) != 0)
            return -1;
    if (!names->count) {
        *count = sizeof usual / sizeof usual[0];
        memcpy(measures, usual, sizeof usual);
    }
    return 0;
}

static bool is_output_format(const char *format)
{
    return strcmp(format, "dot") == 0 || picture_is_format(format);
}

/* What to write: -f when it names something to write, else the suffix of -o. */
static int choose_format(const struct graph_values *values, const char **format, struct err *err)
{
    bool given = values->format && is_output_format(values->format);
    bool to_file = values->output && strcmp(values->output, "-") != 0;

    *format = output_format(given ? values->format : NULL, values->output, to_file ? "" : "dot");
    if (!is_output_format(*format))
        return err_set(err,
                       "cannot tell what to write to '%s': name it .svg, .png, .pdf or .dot, or add --format",
                       values->output);
    return 0;
}

static int check_options(const struct graph_values *values, int argc, struct err *err)
{
    if (!(values->skew > 0))
        return err_set(err, "--skew must be greater than 0");
    if (!(values->tolerance >= 0))
        return err_set(err, "--compare-tolerance must not be negative");
    if (values->compare && argc != 2)
        return err_set(err, "--compare needs two recordings, but %d were named", argc);
    return dot_writer_check_format(values->time_format, err);
}

/* gprof2dot's users write -f pstats: right or wrong is seen in the content. */
static int check_input_format(const struct graph_values *values, const struct recording *recording,
                              struct err *err)
{
    const char *found = recording->functions_count ? "pstats" : "sonde";

    if (!values->format || is_output_format(values->format) || strcmp(values->format, found) == 0)
        return 0;
    return err_set(err,
                   "--format %s: the input is in the format '%s'; formats are recognised, leave --format out",
                   values->format, found);
}

/* ---- the graph ---- */

/* One input, from its bytes to the pruned graph. */
struct source {
    struct recording recording;
    struct callgraph graph;
    char *name;
};

static void clear_source(struct source *source)
{
    callgraph_clear(&source->graph);
    recording_clear(&source->recording);
    free(source->name);
}

static int prune(struct callgraph *graph, const struct graph_values *values, struct err *err)
{
    struct prune_limits limits = {values->node_threshold / 100, values->edge_threshold / 100,
                                  values->paths.items, values->paths.count};

    prune_by_limits(graph, &limits);
    if (values->root && prune_to(graph, values->root, PRUNE_CALLEES, values->depth, err) != 0)
        return -1;
    if (values->leaf && prune_to(graph, values->leaf, PRUNE_CALLERS, values->depth, err) != 0)
        return -1;
    if (values->depth >= 0 && !values->root && !values->leaf &&
        prune_to_entries(graph, values->depth, err) != 0)
        return -1;
    if (values->color_nodes_by_selftime)
        callgraph_weigh_by_self(graph);
    return 0;
}

static int read_source(const struct graph_values *values, int argc, char **argv, struct source *source,
                       struct err *err)
{
    struct selection selection = {0};

    if (input_read_all(argc, argv, &source->recording, &source->name, err) != 0)
        return -1;
    if (check_input_format(values, &source->recording, err) != 0)
        return -1;
    if (native_stacks_name(&source->recording, false, err) != 0)
        return -1;
    if (selection_options_choose(values->measure, values->range, &source->recording, &selection, err) != 0)
        return -1;
    if (selection_options_narrow(&values->part, &source->recording, err) != 0)
        return -1;
    if (callgraph_build(&source->recording, &selection, &source->graph, err) != 0)
        return -1;
    if (source->graph.function_count == 0)
        return err_set(err, "%s holds no calls: there is nothing to draw", source->name);
    return prune(&source->graph, values, err);
}

/* ---- output ---- */

static void put_details(struct bytes *out, enum measure measure, const struct callgraph_function *function)
{
    if (measure_is_memory(measure))
        bytes_putf(out, "\t%.2f%% %s\t(%.2f%% %s)\t", function->total_share * 100,
                   measure_quantity(measure, function->total).text, function->self_share * 100,
                   measure_quantity(measure, function->self).text);
    else
        bytes_putf(out, "\t%.2f%% %.9g s\t(%.2f%% %.9g s)\t%llu calls\t", function->total_share * 100,
                   (double)function->total / 1e9, function->self_share * 100, (double)function->self / 1e9,
                   (unsigned long long)function->calls);
    dot_text_put_visible(out, function->file, DOT_TEXT_NAME_MAX);
}

static int list_functions(const struct callgraph *graph, const char *selector, struct err *err)
{
    bool detailed = selector[0] == '%';
    const char *glob = strcmp(selector + detailed, "+") == 0 ? "*" : selector + detailed;
    struct bytes out = {0};

    for (uint32_t i = 0; i < graph->function_count; i++) {
        const struct callgraph_function *function = &graph->functions[i];
        if (!function->kept || !prune_matches(function, glob))
            continue;
        dot_text_put_visible(&out, function->name, DOT_TEXT_NAME_MAX);
        if (detailed)
            put_details(&out, graph->measure, function);
        bytes_put_u8(&out, '\n');
    }
    int result = out.failed ? err_set(err, "out of memory while listing functions")
                            : output_write("-", out.data, out.size, err);
    bytes_clear(&out);
    return result;
}

static void put_summary(struct bytes *title, const struct source *source)
{
    const struct callgraph *graph = &source->graph;

    if (measure_is_memory(graph->measure))
        bytes_putf(title, "%s: %s %s", source->name, measure_quantity(graph->measure, graph->self_total).text,
                   measure_words(graph->measure));
    else
        bytes_putf(title, "%s: %.4g s", source->name, (double)graph->self_total / 1e9);
    if (graph->total_calls)
        bytes_putf(title, " in %llu calls", (unsigned long long)graph->total_calls);
    uint32_t kept = callgraph_kept_functions(graph);
    if (kept < graph->function_count)
        bytes_putf(title, ", %u of %u functions", kept, graph->function_count);
}

static int write_result(const struct graph_values *values, const char *format, const struct bytes *dot,
                        struct err *err)
{
    const char *path = values->output ? values->output : "-";
    struct bytes picture = {0};
    int result = 0;

    if (!picture_is_format(format))
        return output_write(path, dot->data, dot->size, err);
    result = picture_draw(dot, format, &picture, err);
    if (result == 0)
        result = output_write(path, picture.data, picture.size, err);
    bytes_clear(&picture);
    return result;
}

static void warn_about_size(const struct callgraph *graph, const char *format)
{
    uint32_t kept = callgraph_kept_functions(graph);

    if (kept == 0)
        message_warn("nothing is left to draw; lower --node-threshold");
    else if (kept > SLOW_PICTURE_NODES && picture_is_format(format))
        message_hint("graphviz may need minutes for %u functions; raise --node-threshold", kept);
}

static int draw(const struct graph_values *values, const struct source *before, const struct source *after,
                struct err *err)
{
    enum dot_writer_measure measures[MEASURES_MAX];
    struct dot_writer_style style = {.theme = heat_find(values->colormap),
                                     .skew = values->skew,
                                     .time_format = values->time_format,
                                     .measures = measures,
                                     .wrap = values->wrap,
                                     .strip = values->strip,
                                     .tolerance = values->tolerance,
                                     .only_slower = values->only_slower,
                                     .only_faster = values->only_faster,
                                     .color_by_difference = values->color_by_difference};
    struct bytes title = {0}, dot = {0};
    const char *format;

    if (choose_measures(&values->node_labels, measures, &style.measure_count, err) != 0 ||
        choose_format(values, &format, err) != 0)
        return -1;
    put_summary(&title, before);
    if (after) {
        bytes_put_text(&title, "; compared with ");
        put_summary(&title, after);
    }
    bytes_put_u8(&title, 0);
    style.title = title.failed ? NULL : (const char *)title.data;
    warn_about_size(&before->graph, format);
    int result = dot_writer_write(&before->graph, after ? &after->graph : NULL, &style, &dot, err);
    if (result == 0)
        result = write_result(values, format, &dot, err);
    bytes_clear(&title);
    bytes_clear(&dot);
    return result;
}

static int run(void *parsed, int argc, char **argv)
{
    const struct graph_values *values = parsed;
    struct source before = {0}, after = {0};
    struct err err = {0};
    int result = check_options(values, argc, &err);

    if (result == 0)
        result = read_source(values, values->compare ? 1 : argc, argv, &before, &err);
    if (result == 0 && values->compare)
        result = read_source(values, 1, argv + 1, &after, &err);
    if (result == 0 && values->list_functions)
        result = list_functions(&before.graph, values->list_functions, &err);
    else if (result == 0)
        result = draw(values, &before, values->compare ? &after : NULL, &err);
    clear_source(&before);
    clear_source(&after);
    return result == 0 ? 0 : message_fail(&err);
}

const struct command command_graph = {
    .name = "graph",
    .group = "Look",
    .summary = "Draw the call graph",
    .arguments = "[FILE...]\n--compare BEFORE AFTER",
    .description =
        "Draws who calls whom and where the time goes, as gprof2dot does. A box is a function: its name, "
        "its share of the time with what it calls, (without), and how often it was called. An arrow is a "
        "call: its share of the time and how often. Dashed arrows close a circle of recursion.\n\n"
        "Several recordings are summed; without any the newest in the working directory is drawn. "
        "Pictures are drawn by graphviz's program dot.",
    .examples = "sonde graph out.prof -o out.svg\tdraw a cProfile file\n"
                "sonde graph -n 1 -o out.pdf\tthe newest recording, without functions below 1 %\n"
                "sonde graph -z '*:main' --depth 3 run.sonde | dot -Tx11\tthree calls down from main\n"
                "sonde graph --compare old.prof new.prof -o diff.svg\twhat takes more or less of the run",
    .options = options,
    .defaults = &defaults,
    .values_size = sizeof defaults,
    .run = run,
};
