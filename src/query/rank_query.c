/* ranks: the ranks of a run, how well they are used, findings; rank_function: one function on each of them. */
#include <stdlib.h>

#include "analyse/labels.h"
#include "analyse/rank_findings.h"
#include "base/err.h"
#include "query/answer.h"
#include "query/answer_columns.h"
#include "query/opened.h"
#include "query/queries.h"
#include "query/rank_columns.h"
#include "query/request.h"

#define BINS_DEFAULT 20
#define BINS_MAX     1000

static void put_hosts(struct answer *answer, const struct rank_table *table)
{
    struct bytes hosts = {0};
    uint32_t *ends = malloc(((size_t)table->rank_count + 1) * sizeof *ends);
    for (uint32_t i = 0; ends && i < table->rank_count; i++) {
        bytes_put_text(&hosts, recording_text(&table->names, table->ranks[i].host));
        ends[i] = (uint32_t)hosts.size;
    }
    if (ends && !hosts.failed)
        answer_texts(answer, "host", &hosts, ends, table->rank_count);
    free(ends);
    bytes_clear(&hosts);
}

static void put_ranks(struct answer *answer, const struct rank_table *table)
{
    const struct rank_row *rows = table->ranks;
    uint32_t count = table->rank_count;
    ANSWER_COLUMNS_PUT_NUMBERS(answer, "rank", rows, count, number);
    ANSWER_COLUMNS_PUT_NUMBERS(answer, "problems", rows, count, problems);
    ANSWER_COLUMNS_PUT_NUMBERS(answer, "processes", rows, count, processes);
    ANSWER_COLUMNS_PUT_REALS(answer, "wall_ns", rows, count, wall_ns);
    ANSWER_COLUMNS_PUT_REALS(answer, "amount", rows, count, amount);
    ANSWER_COLUMNS_PUT_REALS(answer, "mpi", rows, count, mpi);
    ANSWER_COLUMNS_PUT_SHARES(answer, "mpi_share", rows, count, mpi, rows[i].amount);
    ANSWER_COLUMNS_PUT_REALS(answer, "calls", rows, count, calls);
    ANSWER_COLUMNS_PUT_REALS(answer, "samples", rows, count, samples);
    put_hosts(answer, table);
}

static void put_efficiency(struct json *json, const struct rank_table *table,
                           const struct rank_efficiency *efficiency)
{
    if (!efficiency->is_known)
        return;
    json_key(json, "efficiency");
    json_begin_object(json);
    json_put_real(json, "load_balance", efficiency->load_balance);
    json_put_real(json, "communication", efficiency->knows_mpi ? efficiency->communication : NAN);
    json_put_real(json, "parallel", efficiency->knows_mpi ? efficiency->parallel : NAN);
    json_put_real(json, "useful_mean_ns", efficiency->useful.mean);
    json_put_unsigned(json, "wall_ns", efficiency->wall_ns);
    json_key(json, "mpi_is_measured");
    json_bool(json, table->mpi_is_measured);
    json_end_object(json);
}

static int put_findings(struct json *json, const struct rank_table *table,
                        const struct rank_efficiency *efficiency, struct err *err)
{
    struct findings findings;
    if (rank_findings_build(table, efficiency, &findings, err) < 0)
        return -1;
    json_key(json, "findings");
    json_begin_array(json);
    for (uint32_t i = 0; i < findings.count; i++) {
        uint32_t code = findings.rows[i].code;
        json_begin_object(json);
        json_put_string(json, "topic", findings.rows[i].topic);
        json_put_unsigned(json, "code", code ? table->origins[code] : 0);
        json_put_real(json, "share", findings.rows[i].share);
        json_put_string(json, "text", findings.rows[i].text);
        json_end_object(json);
    }
    json_end_array(json);
    findings_clear(&findings);
    return 0;
}

int rank_query(struct opened *opened, struct opened_recording *row, const struct request *request,
               struct answer *answer, struct err *err)
{
    (void)opened;
    const struct rank_table *table = opened_ranks(row, &request->selection, err);
    struct rank_efficiency efficiency;
    if (!table || rank_efficiency_of(table, &efficiency, err) < 0)
        return -1;
    rank_columns_put_table(answer, table);
    put_efficiency(&answer->json, table, &efficiency);
    put_ranks(answer, table);
    return put_findings(&answer->json, table, &efficiency, err);
}

static void put_histogram(struct answer *answer, const struct rank_table *table,
                          const struct rank_cells *cells, enum rank_value value,
                          const struct rank_stats *stats, uint32_t bins)
{
    uint32_t *counts = answer_numbers(answer, "histogram", bins);
    if (counts)
        rank_stats_histogram(table, cells, value, stats->min, stats->max, counts, bins);
}

/* One number for each rank, also where it is 0. */
static void put_cells(struct answer *answer, const char *name, const struct rank_table *table,
                      const struct rank_cells *cells, enum rank_value value)
{
    double *values = answer_reals(answer, name, table->rank_count);
    for (uint32_t i = 0; values && i < cells->count; i++)
        values[cells->rows[i].rank] = rank_stats_value(&cells->rows[i], value);
}

static void put_shares(struct answer *answer, const struct rank_table *table, const struct rank_cells *cells,
                       enum rank_value value)
{
    double *shares = answer_reals(answer, "share", table->rank_count);
    for (uint32_t i = 0; shares && i < cells->count; i++)
        shares[cells->rows[i].rank] = answer_share(rank_stats_value(&cells->rows[i], value),
                                                   (double)table->ranks[cells->rows[i].rank].amount);
}

int rank_query_function(struct opened *opened, struct opened_recording *row, const struct request *request,
                        struct answer *answer, struct err *err)
{
    (void)opened;
    static const struct rank_cells none;
    const struct rank_table *table = opened_ranks(row, &request->selection, err);
    if (!table)
        return -1;
    uint32_t function = request->code ? rank_table_find_origin(table, request->code) : 0;
    const struct rank_cells *cells = function ? &table->functions[function] : &none;
    enum rank_value value = request->by_self ? RANK_SELF : RANK_TOTAL;
    struct rank_stats stats = rank_stats_of(table, cells, value);
    uint32_t bins = !request->limit ? BINS_DEFAULT : request->limit < BINS_MAX ? request->limit : BINS_MAX;
    rank_columns_put_table(answer, table);
    rank_columns_put_stats(answer, table, &stats);
    ANSWER_COLUMNS_PUT_NUMBERS(answer, "rank", table->ranks, table->rank_count, number);
    put_cells(answer, "total", table, cells, RANK_TOTAL);
    put_cells(answer, "self", table, cells, RANK_SELF);
    put_cells(answer, "useful", table, cells, RANK_USEFUL);
    put_cells(answer, "calls", table, cells, RANK_CALLS);
    put_cells(answer, "samples", table, cells, RANK_SAMPLES);
    put_shares(answer, table, cells, value);
    put_histogram(answer, table, cells, value, &stats, bins);
    return 0;
}
