#include "export/rank_csv.h"

#include <inttypes.h>

#include "analyse/rank_rows.h"
#include "base/bytes.h"
#include "export/table_csv.h"

void rank_csv_functions(const struct rank_table *table, const struct rank_rows *rows, struct bytes *out)
{
    const char *suffix = measure_suffix(table->measure);
    bytes_putf(
        out,
        "%s,self_mean_%s,mean_%s,min_%s,min_rank,max_%s,max_rank,std_%s,imbalance_percent,imbalance_%s,"
        "present,ranks,file,line,function\n",
        table->sampled ? "samples" : "calls", suffix, suffix, suffix, suffix, suffix, suffix);
    for (uint32_t i = 0; i < rows->ranking.count; i++) {
        const struct ranking_row *row = &rows->ranking.rows[i];
        const struct rank_stats *stats = &rows->stats[row->id];
        bytes_putf(out, "%" PRIu64 ",%" PRIu64 ",%.1f,%.0f,%u,%.0f,%u,%.1f,%.3f,%.1f,%u,%u,",
                   table->sampled ? row->total_samples : row->calls, row->self, stats->mean, stats->min,
                   table->ranks[stats->min_rank].number, stats->max, table->ranks[stats->max_rank].number,
                   stats->deviation, stats->imbalance_share * 100, stats->imbalance, stats->present,
                   table->rank_count);
        table_csv_put_code(&table->names, row->id, out);
        bytes_put_u8(out, '\n');
    }
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
