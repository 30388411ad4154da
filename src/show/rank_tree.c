#include "show/rank_tree.h"

#include <inttypes.h>

#include "analyse/labels.h"
#include "analyse/rank_paths.h"
#include "analyse/rank_stats.h"
#include "base/bytes.h"
#include "base/err.h"
#include "show/amount_text.h"
#include "show/report_text.h"

#define INDENT      2
#define INDENT_MAX  40
#define NAME_COLUMN 59

struct drawing {
    const struct rank_table *table;
    const struct report_options *options;
    struct bytes *out;
    struct bytes label;
    double cutoff;
    int64_t rows_left; /* negative = any number */
};

static void put_name(struct drawing *drawing, const struct tree_node *node)
{
    unsigned spaces = (node->depth - 1) * INDENT < INDENT_MAX ? (node->depth - 1) * INDENT : INDENT_MAX;
    bytes_reset(&drawing->label);
    labels_standard(&drawing->table->names, node->code, drawing->options->paths, &drawing->label);
    bytes_put_u8(&drawing->label, '\0');
    bytes_putf(drawing->out, "%*s", (int)spaces, "");
    if (!drawing->label.failed)
        terminal_fit(&drawing->options->terminal, (const char *)drawing->label.data, NAME_COLUMN + spaces,
                     drawing->out);
    bytes_put_u8(drawing->out, '\n');
}

static void put_path(const struct tree *tree, uint32_t at, void *context)
{
    struct drawing *drawing = context;
    const struct rank_table *table = drawing->table;
    const struct tree_node *node = &tree->nodes[at];
    bool is_deep = drawing->options->depth > 0 && node->depth > drawing->options->depth;
    if (!at || is_deep || (double)node->total < drawing->cutoff || !drawing->rows_left)
        return;
    drawing->rows_left -= drawing->rows_left > 0;
    struct rank_stats stats = rank_stats_of(table, &table->paths[at], RANK_TOTAL);
    amount_text_put(table->measure, stats.mean, drawing->out);
    bytes_put_u8(drawing->out, ' ');
    amount_text_put(table->measure, stats.max, drawing->out);
    bytes_putf(drawing->out, " %5u %5.1f%% ", table->ranks[stats.max_rank].number,
               stats.imbalance_share * 100);
    amount_text_put(table->measure, stats.imbalance, drawing->out);
    bytes_putf(drawing->out, " %5u/%-5u  ", stats.present, table->rank_count);
    put_name(drawing, node);
}

static void put_caption(const struct drawing *drawing, double min_percent)
{
    bytes_putf(drawing->out,
               "Call tree, each path on one rank\nPaths below %g%% of all are left out (--min-percent)\n\n",
               min_percent);
    terminal_style(&drawing->options->terminal, TERMINAL_BOLD, drawing->out);
    bytes_put_text(drawing->out,
                   "    mean      max  rank imbal. max-mean  present     filename:lineno(function)\n");
    terminal_style(&drawing->options->terminal, TERMINAL_PLAIN, drawing->out);
}

int rank_tree_put(const struct rank_table *table, const struct report_options *options, struct bytes *out,
                  struct err *err)
{
    struct tree tree;
    if (rank_paths_build(table, &tree, err) < 0)
        return -1;
    double percent = options->min_percent ? options->min_percent : REPORT_TEXT_MIN_PERCENT;
    percent = percent < 0 ? 0 : percent;
    struct drawing drawing = {.table = table,
                              .options = options,
                              .out = out,
                              .cutoff = (double)tree.nodes[0].total * percent / 100,
                              .rows_left = options->limit > 0 ? options->limit : -1};
    put_caption(&drawing, percent);
    tree_walk(&tree, put_path, NULL, &drawing);
    bytes_clear(&drawing.label);
    tree_clear(&tree);
    return out->failed ? err_set(err, "not enough memory for the report") : 0;
}
