#include "export/rank_json.h"

#include <stdio.h>

#include "analyse/mpi_suspects.h"
#include "analyse/rank_findings.h"
#include "analyse/rank_rows.h"
#include "base/err.h"
#include "base/json.h"
#include "export/mpi_tables.h"

#define RANK_JSON_VERSION 1

struct document {
    const struct rank_table *table;
    struct json json;
};

static void put_string(struct document *document, const char *key, uint32_t string)
{
    const struct recording *names = &document->table->names;
    json_key(&document->json, key);
    json_text(&document->json, recording_text(names, string), strings_size(&names->strings, string));
}

/* A field whose name ends in the unit of the measure. */
static void key_of(struct document *document, const char *name)
{
    char key[40];
    snprintf(key, sizeof key, "%s_%s", name, measure_suffix(document->table->measure));
    json_key(&document->json, key);
}

static void put_real(struct document *document, const char *name, double amount)
{
    key_of(document, name);
    json_real(&document->json, amount);
}

static void put_amount(struct document *document, const char *name, uint64_t amount)
{
    key_of(document, name);
    json_unsigned(&document->json, amount);
}

static void put_function_name(struct document *document, uint32_t code)
{
    const struct code *row = &document->table->names.codes[code];
    put_string(document, "function", row->qualname ? row->qualname : row->name);
    put_string(document, "file", row->file);
    put_string(document, "module", row->module);
    json_put_unsigned(&document->json, "line", row->line);
}

static void put_stats(struct document *document, const struct rank_stats *stats)
{
    struct json *json = &document->json;
    const struct rank_table *table = document->table;
    put_real(document, "mean", stats->mean);
    put_real(document, "min", stats->min);
    json_put_unsigned(json, "min_rank", table->ranks[stats->min_rank].number);
    put_real(document, "max", stats->max);
    json_put_unsigned(json, "max_rank", table->ranks[stats->max_rank].number);
    put_real(document, "std", stats->deviation);
    json_put_real(json, "imbalance_percent", stats->imbalance_share * 100);
    put_real(document, "imbalance", stats->imbalance);
    json_put_unsigned(json, "present", stats->present);
}

static void put_ranks(struct document *document)
{
    struct json *json = &document->json;
    json_begin_list(json, "ranks");
    for (uint32_t i = 0; i < document->table->rank_count; i++) {
        const struct rank_row *rank = &document->table->ranks[i];
        json_begin_row(json);
        json_put_unsigned(json, "rank", rank->number);
        put_string(document, "host", rank->host);
        json_put_unsigned(json, "wall_ns", rank->wall_ns);
        put_amount(document, "total", rank->amount);
        put_amount(document, "mpi", rank->mpi);
        json_put_unsigned(json, "calls", rank->calls);
        json_put_unsigned(json, "samples", rank->samples);
        json_put_unsigned(json, "processes", rank->processes);
        json_put_unsigned(json, "problems", rank->problems);
        if (rank->exit_code != INT32_MIN) {
            json_key(json, "exit_code");
            json_signed(json, rank->exit_code);
        }
        json_end_object(json);
    }
    json_end_array(json);
}

static void put_functions(struct document *document, const struct rank_rows *rows)
{
    struct json *json = &document->json;
    json_begin_list(json, "functions");
    for (uint32_t i = 0; i < rows->ranking.count; i++) {
        const struct ranking_row *row = &rows->ranking.rows[i];
        json_begin_row(json);
        put_function_name(document, row->id);
        json_put_unsigned(json, "calls", row->calls);
        json_put_unsigned(json, "samples", row->total_samples);
        put_amount(document, "self_mean", row->self);
        put_stats(document, &rows->stats[row->id]);
        json_end_object(json);
    }
    json_end_array(json);
}

static void put_cells(struct document *document, uint32_t code)
{
    struct json *json = &document->json;
    const struct rank_cells *cells = &document->table->functions[code];
    json_begin_row(json);
    put_function_name(document, code);
    json_begin_list(json, "on_ranks");
    for (uint32_t i = 0; i < cells->count; i++) {
        const struct rank_cell *cell = &cells->rows[i];
        json_begin_row(json);
        json_put_unsigned(json, "rank", document->table->ranks[cell->rank].number);
        json_put_unsigned(json, "calls", cell->calls);
        json_put_unsigned(json, "samples", cell->samples);
        put_amount(document, "self", cell->self);
        put_amount(document, "total", cell->total);
        put_amount(document, "mpi", cell->mpi);
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
}

static void put_findings(struct json *json, const struct findings *findings)
{
    json_begin_list(json, "findings");
    for (uint32_t i = 0; i < findings->count; i++) {
        json_begin_row(json);
        json_put_string(json, "topic", findings->rows[i].topic);
        json_put_real(json, "share", findings->rows[i].share);
        json_put_string(json, "text", findings->rows[i].text);
        json_end_object(json);
    }
    json_end_array(json);
}

static void put_efficiency(struct document *document, const struct rank_efficiency *efficiency)
{
    struct json *json = &document->json;
    json_line(json);
    json_key(json, "efficiency");
    if (!efficiency->is_known) {
        json_null(json);
        return;
    }
    json_begin_object(json);
    json_put_real(json, "load_balance", efficiency->load_balance);
    if (efficiency->knows_mpi) {
        json_put_real(json, "communication", efficiency->communication);
        json_put_real(json, "parallel", efficiency->parallel);
        json_put_string(json, "mpi_from", document->table->mpi_is_measured ? "calls" : "frames");
    }
    json_put_unsigned(json, "wall_ns", efficiency->wall_ns);
    json_put_real(json, "useful_mean_ns", efficiency->useful.mean);
    json_end_object(json);
}

static void put_run(struct document *document)
{
    const struct rank_table *table = document->table;
    struct json *json = &document->json;
    json_put_unsigned(json, "sonde_ranks", RANK_JSON_VERSION);
    json_put_string(json, "measure", measure_name(table->measure));
    json_put_unsigned(json, "rank_count", table->rank_count);
    json_put_unsigned(json, "expected_ranks", table->expected);
    json_begin_list(json, "unread");
    for (uint32_t i = 0; i < table->unread_count; i++)
        json_string(json, table->unread[i]);
    json_end_array(json);
}

/* As `report --mpi all --json` has it. */
static int put_mpi(struct document *document, struct err *err)
{
    struct json *json = &document->json;
    struct mpi_suspects mpi;
    if (!document->table->mpi)
        return 0;
    if (mpi_suspects_init(&mpi, document->table->mpi, err) < 0)
        return -1;
    json_line(json);
    json_key(json, "mpi");
    json_begin_object(json);
    mpi_tables_put_json(&mpi, json);
    json_end_object(json);
    mpi_suspects_clear(&mpi);
    return 0;
}

int rank_json_put(const struct rank_table *table, const struct rank_rows *rows, const uint32_t *codes,
                  uint32_t code_count, struct bytes *out, struct err *err)
{
    struct document document = {.table = table, .json = {.out = out}};
    struct rank_efficiency efficiency;
    struct findings findings;
    if (rank_efficiency_of(table, &efficiency, err) < 0 ||
        rank_findings_build(table, &efficiency, &findings, err) < 0)
        return -1;
    json_begin_object(&document.json);
    put_run(&document);
    put_findings(&document.json, &findings);
    findings_clear(&findings);
    put_efficiency(&document, &efficiency);
    put_ranks(&document);
    put_functions(&document, rows);
    if (put_mpi(&document, err) < 0)
        return -1;
    json_begin_list(&document.json, "chosen");
    for (uint32_t i = 0; i < code_count; i++)
        put_cells(&document, codes[i]);
    json_end_array(&document.json);
    json_line(&document.json);
    json_end_object(&document.json);
    bytes_put_u8(out, '\n');
    return out->failed ? err_set(err, "not enough memory for the JSON document") : 0;
}
