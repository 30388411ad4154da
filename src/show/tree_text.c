#include "show/tree_text.h"

#include <inttypes.h>
#include <stdlib.h>

#include "analyse/fold.h"
#include "base/bytes.h"
#include "base/err.h"
#include "show/amount_text.h"
#include "show/report_text.h"
#include "store/recording.h"

#define HOT_SHARE    0.10
#define INDENT       2
#define INDENT_MAX   40
#define NAME_COLUMN  36
#define BOTTOM_INDEX 26

struct drawing {
    const struct recording *recording;
    const struct report_options *options;
    const struct tree *tree;
    struct bytes *out;
    struct bytes label;
    uint64_t cutoff;
    uint64_t whole;
    enum measure measure;
    bool bottom_up;
    int64_t rows_left; /* negative = any number */
};

static double min_percent(const struct report_options *options)
{
    double percent = options->min_percent ? options->min_percent : REPORT_TEXT_MIN_PERCENT;
    return percent < 0 ? 0 : percent;
}

static bool is_shown(const struct drawing *drawing, uint32_t node)
{
    const struct tree_node *row = &drawing->tree->nodes[node];
    bool deep = drawing->options->depth > 0 && row->depth > drawing->options->depth;
    return node && !deep && row->total >= drawing->cutoff;
}

/* Children are sorted, so the second tells whether there is more than one to show. */
static bool branches(const struct drawing *drawing, uint32_t node)
{
    const struct tree_node *nodes = drawing->tree->nodes;
    uint32_t first = nodes[node].first_child;
    return first && is_shown(drawing, nodes[first].next_sibling);
}

static void put_name(struct drawing *drawing, const struct tree_node *node, unsigned indent, bool step)
{
    unsigned spaces = indent * INDENT < INDENT_MAX ? indent * INDENT : INDENT_MAX;
    unsigned used = drawing->bottom_up ? BOTTOM_INDEX : NAME_COLUMN;
    bytes_reset(&drawing->label);
    labels_standard(drawing->recording, node->code, drawing->options->paths, &drawing->label);
    bytes_put_u8(&drawing->label, '\0');
    bytes_putf(drawing->out, "%*s", (int)spaces, "");
    if (step) {
        bytes_put_text(drawing->out, "› ");
        used += 2;
    }
    bool folded = node->recursive && !drawing->bottom_up;
    if (!drawing->label.failed)
        terminal_fit(&drawing->options->terminal, (const char *)drawing->label.data,
                     used + spaces + (folded ? 12 : 0), drawing->out);
    bytes_put_text(drawing->out, folded ? " [recursive]\n" : "\n");
}

static void put_node(struct drawing *drawing, uint32_t at, unsigned indent)
{
    const struct tree_node *node = &drawing->tree->nodes[at];
    double share = drawing->whole ? (double)node->total / (double)drawing->whole : 0;
    double self_share = drawing->whole ? (double)node->self / (double)drawing->whole : 0;
    const struct terminal *terminal = &drawing->options->terminal;
    amount_text_put(drawing->measure, (double)node->total, drawing->out);
    bytes_putf(drawing->out, " %5.1f%%", share * 100);
    if (!drawing->bottom_up) {
        bool hot = self_share >= HOT_SHARE;
        if (hot)
            terminal_style(terminal, TERMINAL_HOT, drawing->out);
        bytes_put_u8(drawing->out, ' ');
        amount_text_put(drawing->measure, (double)node->self, drawing->out);
        if (hot)
            terminal_style(terminal, TERMINAL_PLAIN, drawing->out);
    }
    bytes_putf(drawing->out, " %9" PRIu64 "  ", node->calls + node->total_samples);
    put_name(drawing, node, indent, node->parent && !branches(drawing, node->parent));
}

/* Depth first without a stack; the indentation is undone on the way up. */
static void draw(struct drawing *drawing)
{
    const struct tree_node *nodes = drawing->tree->nodes;
    uint32_t at = nodes[0].first_child;
    unsigned indent = 0;
    while (is_shown(drawing, at) && drawing->rows_left) {
        put_node(drawing, at, indent);
        drawing->rows_left -= drawing->rows_left > 0;
        if (is_shown(drawing, nodes[at].first_child)) {
            indent += branches(drawing, at);
            at = nodes[at].first_child;
            continue;
        }
        while (at && !is_shown(drawing, nodes[at].next_sibling)) {
            at = nodes[at].parent;
            indent -= at && branches(drawing, at);
        }
        at = at ? nodes[at].next_sibling : 0;
    }
}

static void put_columns(const struct drawing *drawing)
{
    bool memory = measure_is_memory(drawing->measure);
    const char *self = memory ? "    own" : "tottime", *total = memory ? "  total" : "cumtime";
    bool by_samples = measure_is_of_samples(drawing->recording, drawing->measure);
    const char *counts = memory ? " blocks" : by_samples ? "samples" : " ncalls";
    terminal_style(&drawing->options->terminal, TERMINAL_BOLD, drawing->out);
    if (drawing->bottom_up)
        bytes_putf(drawing->out, " %s       %%   %s  filename:lineno(function)\n", self, counts);
    else
        bytes_putf(drawing->out, " %s       %%  %s   %s  filename:lineno(function)\n", total, self, counts);
    terminal_style(&drawing->options->terminal, TERMINAL_PLAIN, drawing->out);
}

static void put_caption(const struct drawing *drawing)
{
    const struct report_options *options = drawing->options;
    bool memory = measure_is_memory(drawing->measure);
    const char *what = drawing->bottom_up
                           ? memory ? "Functions by their own memory, each with its callers below it"
                                    : "Functions by internal time, each with its callers below it"
                       : drawing->tree->estimated
                           ? "Call tree, ESTIMATED: the file knows only who called whom, not whole paths"
                           : "Call tree";
    bytes_putf(drawing->out, "%s\n", what);
    bytes_put_text(drawing->out, drawing->bottom_up ? "› marks the only caller of the line above it\n"
                                                    : "› marks the only callee of the line above it\n");
    bytes_putf(drawing->out, "Paths below %g%% of the %s are left out (--min-percent)\n\n",
               min_percent(options), memory ? "memory" : "time");
    put_columns(drawing);
}
static int build(const struct recording *recording, const struct report_options *options, struct tree *tree,
                 struct err *err)
{
    if (options->view == REPORT_BOTTOM_UP)
        return tree_build_bottom_up(recording, &options->selection, tree, err);
    if (tree_build(recording, &options->selection, tree, err) < 0)
        return -1;
    if (fold_recursion(tree, recording->codes_count, err) == 0)
        return 0;
    tree_clear(tree);
    return -1;
}

int tree_text_put(const struct recording *recording, const struct report_options *options, struct bytes *out,
                  struct err *err)
{
    struct tree tree;
    if (build(recording, options, &tree, err) < 0)
        return -1;
    struct drawing drawing = {.recording = recording,
                              .options = options,
                              .tree = &tree,
                              .out = out,
                              .whole = tree.nodes[0].total,
                              .measure = measure_of(recording, &options->selection),
                              .bottom_up = options->view == REPORT_BOTTOM_UP,
                              .rows_left = options->limit > 0 ? options->limit : -1};
    drawing.cutoff = (uint64_t)((double)drawing.whole * min_percent(options) / 100);
    put_caption(&drawing);
    draw(&drawing);
    bytes_clear(&drawing.label);
    tree_clear(&tree);
    return 0;
}
