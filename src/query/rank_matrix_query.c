/* rank_functions: functions over ranks, as rows of a table and of a heat map; rank_bars: as parts of each rank's bar. */
#include <stdlib.h>
#include <string.h>

#include "analyse/rank_rows.h"
#include "base/err.h"
#include "query/answer.h"
#include "query/opened.h"
#include "query/queries.h"
#include "query/rank_columns.h"
#include "query/request.h"

#define CELLS_MAX   2000000 /* of a heat map at once: 46 MiB */
#define PARTS_MAX   100     /* of a bar */
#define COLUMNS_MAX 4096

static uint32_t columns_of(const struct rank_table *table, const struct request *request)
{
    return rank_columns_count(table, request->columns ? request->columns : COLUMNS_MAX);
}

/* ---- table and heat map ---- */

struct window {
    const struct rank_table *table;
    const struct rank_rows *rows;
    uint32_t first, count; /* which of the rows */
    enum rank_value value;
};

static uint32_t function_at(const struct window *window, uint32_t row)
{
    return window->rows->ranking.rows[window->first + row].id;
}

static const struct rank_stats *stats_at(const struct window *window, uint32_t row)
{
    return &window->rows->stats[function_at(window, row)];
}

static void put_stat(struct answer *answer, const struct window *window, const char *name, size_t offset)
{
    double *values = answer_reals(answer, name, window->count);
    for (uint32_t i = 0; values && i < window->count; i++)
        values[i] = *(const double *)((const char *)stats_at(window, i) + offset);
}

static void put_stats(struct answer *answer, const struct window *window)
{
    put_stat(answer, window, "mean", offsetof(struct rank_stats, mean));
    put_stat(answer, window, "min", offsetof(struct rank_stats, min));
    put_stat(answer, window, "max", offsetof(struct rank_stats, max));
    put_stat(answer, window, "std", offsetof(struct rank_stats, deviation));
    put_stat(answer, window, "imbalance", offsetof(struct rank_stats, imbalance));
    put_stat(answer, window, "imbalance_share", offsetof(struct rank_stats, imbalance_share));
}

static void put_numbers(struct answer *answer, const struct window *window)
{
    const struct rank_table *table = window->table;
    uint32_t *code = answer_numbers(answer, "code", window->count);
    for (uint32_t i = 0; code && i < window->count; i++)
        code[i] = table->origins[function_at(window, i)];
    uint32_t *present = answer_numbers(answer, "present", window->count);
    for (uint32_t i = 0; present && i < window->count; i++)
        present[i] = stats_at(window, i)->present;
    uint32_t *min_rank = answer_numbers(answer, "min_rank", window->count);
    for (uint32_t i = 0; min_rank && i < window->count; i++)
        min_rank[i] = table->ranks[stats_at(window, i)->min_rank].number;
    uint32_t *max_rank = answer_numbers(answer, "max_rank", window->count);
    for (uint32_t i = 0; max_rank && i < window->count; i++)
        max_rank[i] = table->ranks[stats_at(window, i)->max_rank].number;
    double *calls = answer_reals(answer, "calls", window->count);
    for (uint32_t i = 0; calls && i < window->count; i++)
        calls[i] = (double)window->rows->ranking.rows[window->first + i].calls;
    double *samples = answer_reals(answer, "samples", window->count);
    for (uint32_t i = 0; samples && i < window->count; i++)
        samples[i] = (double)window->rows->ranking.rows[window->first + i].total_samples;
}

/* Row by row, `columns` numbers each. */
static void put_cells(struct answer *answer, const struct window *window, uint32_t columns)
{
    size_t size = (size_t)window->count * columns;
    if (!answer_reserve(answer, 3 * (size + 1) * sizeof(double)))
        return;
    double *mean = answer_reals(answer, "cell_mean", size);
    double *least = answer_reals(answer, "cell_min", size);
    double *most = answer_reals(answer, "cell_max", size);
    for (uint32_t i = 0; mean && least && most && i < window->count; i++) {
        size_t at = (size_t)i * columns;
        rank_columns_fill(window->table, &window->table->functions[function_at(window, i)], window->value,
                          columns, mean + at, least + at, most + at);
    }
}

static void put_window(struct answer *answer, const struct request *request, const struct rank_table *table,
                       const struct rank_rows *rows)
{
    uint32_t all = rows->ranking.count;
    struct window window = {.table = table,
                            .rows = rows,
                            .first = request->first < all ? request->first : all,
                            .value = request->by_self ? RANK_SELF : RANK_TOTAL};
    uint32_t columns = columns_of(table, request), most = columns ? CELLS_MAX / columns : 0;
    uint32_t limit = request->limit && request->limit < most ? request->limit : most;
    window.count = all - window.first < limit ? all - window.first : limit;
    rank_columns_put_table(answer, table);
    json_put_unsigned(&answer->json, "all", all);
    json_put_unsigned(&answer->json, "first", window.first);
    json_put_unsigned(&answer->json, "columns", columns);
    put_numbers(answer, &window);
    put_stats(answer, &window);
    rank_columns_put_firsts(answer, table, columns);
    put_cells(answer, &window, columns);
}

/* Texts rise where nobody says otherwise, and numbers fall. */
static bool is_text(const char *key)
{
    static const char *const texts[] = {"name", "filename", "line", "nfl", "stdname"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(texts[i], key) == 0)
            return true;
    return false;
}

int rank_matrix_query(struct opened *opened, struct opened_recording *row, const struct request *request,
                      struct answer *answer, struct err *err)
{
    (void)opened;
    const struct rank_table *table = opened_ranks(row, &request->selection, err);
    struct rank_rows rows;
    const char *key = request->view;
    bool reverse = *key && request->falling == is_text(key);
    if (!table ||
        rank_rows_build(table, request->by_self ? RANK_SELF : RANK_TOTAL, LABEL_SHORT, &rows, err) < 0)
        return -1;
    int result = rank_rows_sort(&rows, &key, *key ? 1 : 0, reverse, err);
    if (result == 0)
        put_window(answer, request, table, &rows);
    rank_rows_clear(&rows);
    return result;
}

/* ---- bars ---- */

/* What is left of each column when the parts are taken away. */
static void put_rest(const struct rank_table *table, uint32_t columns, uint32_t parts, double *cells)
{
    double *rest = cells + (size_t)parts * columns;
    for (uint32_t column = 0; column < columns; column++) {
        uint32_t first = rank_columns_first(table, column, columns);
        uint32_t end = rank_columns_first(table, column + 1, columns);
        for (uint32_t rank = first; rank < end; rank++)
            rest[column] += (double)table->ranks[rank].amount / (end - first);
        for (uint32_t i = 0; i < parts; i++)
            rest[column] -= cells[(size_t)i * columns + column];
        rest[column] = rest[column] > 0 ? rest[column] : 0;
    }
}

static void put_parts(struct answer *answer, const struct window *window, uint32_t columns)
{
    const struct rank_table *table = window->table;
    uint32_t *code = answer_numbers(answer, "code", window->count);
    for (uint32_t i = 0; code && i < window->count; i++)
        code[i] = table->origins[function_at(window, i)];
    put_stats(answer, window);
    double *cells = answer_reals(answer, "cell_mean", ((size_t)window->count + 1) * columns);
    for (uint32_t i = 0; cells && i < window->count; i++)
        rank_columns_fill(table, &table->functions[function_at(window, i)], RANK_SELF, columns,
                          cells + (size_t)i * columns, NULL, NULL);
    if (cells)
        put_rest(table, columns, window->count, cells);
}

/* Of the whole ranks: the bars of mean, std, min and max. */
static int put_whole(struct answer *answer, const struct rank_table *table, struct err *err)
{
    double *amounts = malloc(((size_t)table->rank_count + 1) * sizeof *amounts);
    if (!amounts)
        return err_set(err, "not enough memory for %u ranks", table->rank_count);
    for (uint32_t i = 0; i < table->rank_count; i++)
        amounts[i] = (double)table->ranks[i].amount;
    struct rank_stats stats = rank_stats_of_reals(amounts, table->rank_count);
    free(amounts);
    json_key(&answer->json, "whole");
    json_begin_object(&answer->json);
    rank_columns_put_stats(answer, table, &stats);
    json_end_object(&answer->json);
    return 0;
}

int rank_matrix_query_bars(struct opened *opened, struct opened_recording *row, const struct request *request,
                           struct answer *answer, struct err *err)
{
    (void)opened;
    const struct rank_table *table = opened_ranks(row, &request->selection, err);
    struct rank_rows rows;
    if (!table || rank_rows_build(table, RANK_SELF, LABEL_SHORT, &rows, err) < 0)
        return -1;
    int result = rank_rows_sort(&rows, NULL, 0, false, err);
    uint32_t limit = request->limit && request->limit < PARTS_MAX ? request->limit : PARTS_MAX;
    struct window window = {.table = table, .rows = &rows, .value = RANK_SELF};
    window.count = rows.ranking.count < limit ? rows.ranking.count : limit;
    uint32_t columns = columns_of(table, request);
    if (result == 0) {
        rank_columns_put_table(answer, table);
        json_put_unsigned(&answer->json, "columns", columns);
        rank_columns_put_firsts(answer, table, columns);
        put_parts(answer, &window, columns);
        result = put_whole(answer, table, err);
    }
    rank_rows_clear(&rows);
    return result;
}
