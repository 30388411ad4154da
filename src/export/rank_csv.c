#include "export/rank_csv.h"

#include <inttypes.h>

#include "analyse/rank_paths.h"
#include "analyse/rank_rows.h"
#include "base/bytes.h"
#include "export/table_csv.h"

static void put_stat_names(const struct rank_table *table, struct bytes *out)
{
    const char *suffix = measure_suffix(table->measure);
    bytes_putf(
        out,
        "mean_%s,min_%s,min_rank,max_%s,max_rank,std_%s,imbalance_percent,imbalance_%s,present,ranks,file,"
        "line,function\n",
        suffix, suffix, suffix, suffix, suffix);
}

static void put_stats(const struct rank_table *table, const struct rank_stats *stats, uint32_t code,
                      struct bytes *out)
{
    bytes_putf(out, "%.1f,%.0f,%u,%.0f,%u,%.1f,%.3f,%.1f,%u,%u,", stats->mean, stats->min,
               table->ranks[stats->min_rank].number, stats->max, table->ranks[stats->max_rank].number,
               stats->deviation, stats->imbalance_share * 100, stats->imbalance, stats->present,
               table->rank_count);
    table_csv_put_code(&table->names, code, out);
    bytes_put_u8(out, '\n');
}

static const char *count_name(const struct rank_table *table)
{
    return table->sampled ? "samples" : "calls";
}

void rank_csv_functions(const struct rank_table *table, const struct rank_rows *rows, struct bytes *out)
{
    bytes_putf(out, "%s,self_mean_%s,", count_name(table), measure_suffix(table->measure));
    put_stat_names(table, out);
    for (uint32_t i = 0; i < rows->ranking.count; i++) {
        const struct ranking_row *row = &rows->ranking.rows[i];
        bytes_putf(out, "%" PRIu64 ",%" PRIu64 ",", table->sampled ? row->total_samples : row->calls,
                   row->self);
        put_stats(table, &rows->stats[row->id], row->id, out);
    }
}

struct lines {
    const struct rank_table *table;
    struct bytes *out;
};

static void put_path(const struct tree *tree, uint32_t at, void *context)
{
    const struct lines *lines = context;
    const struct tree_node *node = &tree->nodes[at];
    if (!at)
        return;
    struct rank_stats stats = rank_stats_of(lines->table, &lines->table->paths[at], RANK_TOTAL);
    bytes_putf(lines->out, "%u,%u,%u,%" PRIu64 ",", at, node->parent, node->depth,
               node->calls + node->total_samples);
    put_stats(lines->table, &stats, node->code, lines->out);
}

int rank_csv_paths(const struct rank_table *table, struct bytes *out, struct err *err)
{
    struct lines lines = {table, out};
    struct tree tree;
    if (rank_paths_build(table, &tree, err) < 0)
        return -1;
    bytes_putf(out, "node,parent,depth,%s,", count_name(table));
    put_stat_names(table, out);
    tree_walk(&tree, put_path, NULL, &lines);
    tree_clear(&tree);
    return 0;
}

void rank_csv_ranks(const struct rank_table *table, struct bytes *out)
{
    const char *suffix = measure_suffix(table->measure);
    bytes_putf(out, "rank,wall_ns,total_%s,mpi_%s,calls,samples,processes,exit_code,problems,host\n", suffix,
               suffix);
    for (uint32_t i = 0; i < table->rank_count; i++) {
        const struct rank_row *rank = &table->ranks[i];
        bytes_putf(out, "%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%u,", rank->number,
                   rank->wall_ns, rank->amount, rank->mpi, rank->calls, rank->samples, rank->processes);
        if (rank->exit_code != INT32_MIN)
            bytes_putf(out, "%d", rank->exit_code);
        bytes_putf(out, ",%u,", rank->problems);
        table_csv_put_text(recording_text(&table->names, rank->host), out);
        bytes_put_u8(out, '\n');
    }
}

void rank_csv_cells(const struct rank_table *table, const uint32_t *codes, uint32_t count, struct bytes *out)
{
    const char *suffix = measure_suffix(table->measure);
    bytes_putf(out, "rank,calls,samples,self_%s,total_%s,mpi_%s,host,file,line,function\n", suffix, suffix,
               suffix);
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t rank = 0; rank < table->rank_count; rank++) {
            static const struct rank_cell nothing;
            const struct rank_cell *cell = rank_table_cell(&table->functions[codes[i]], rank);
            cell = cell ? cell : &nothing;
            bytes_putf(out, "%u,%" PRIu64 ",%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",",
                       table->ranks[rank].number, cell->calls, cell->samples, cell->self, cell->total,
                       cell->mpi);
            table_csv_put_text(recording_text(&table->names, table->ranks[rank].host), out);
            bytes_put_u8(out, ',');
            table_csv_put_code(&table->names, codes[i], out);
            bytes_put_u8(out, '\n');
        }
    }
}
