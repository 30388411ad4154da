#include "query/rank_columns.h"

#include "query/answer.h"

void rank_columns_put_table(struct answer *answer, const struct rank_table *table)
{
    struct json *json = &answer->json;
    json_put_string(json, "measure", measure_name(table->measure));
    json_put_string(json, "unit", measure_suffix(table->measure));
    json_key(json, "sampled");
    json_bool(json, table->sampled);
    json_put_unsigned(json, "rank_count", table->rank_count);
    json_put_unsigned(json, "expected", table->expected);
}

void rank_columns_put_stats(struct answer *answer, const struct rank_table *table,
                            const struct rank_stats *stats)
{
    struct json *json = &answer->json;
    uint32_t last = table->rank_count ? table->rank_count - 1 : 0;
    json_put_real(json, "mean", stats->mean);
    json_put_real(json, "min", stats->min);
    json_put_real(json, "max", stats->max);
    json_put_real(json, "std", stats->deviation);
    json_put_real(json, "imbalance", stats->imbalance);
    json_put_real(json, "imbalance_share", stats->imbalance_share);
    json_put_unsigned(json, "present", stats->present);
    if (!table->rank_count)
        return;
    json_put_unsigned(json, "min_rank", table->ranks[stats->min_rank < last ? stats->min_rank : last].number);
    json_put_unsigned(json, "max_rank", table->ranks[stats->max_rank].number);
}

uint32_t rank_columns_count(const struct rank_table *table, uint32_t wanted)
{
    return wanted && wanted < table->rank_count ? wanted : table->rank_count;
}

void rank_columns_put_firsts(struct answer *answer, const struct rank_table *table, uint32_t count)
{
    uint32_t *firsts = answer_numbers(answer, "column_first", (size_t)count + 1);
    for (uint32_t i = 0; firsts && count && i <= count; i++)
        firsts[i] = rank_columns_first(table, i, count);
}

/* Ranks without a cell have 0. */
static void close_column(uint32_t ranks, uint32_t seen, double sum, double *mean, double *least)
{
    *mean = sum / ranks;
    if (least && seen < ranks)
        *least = 0;
}

void rank_columns_fill(const struct rank_table *table, const struct rank_cells *cells, enum rank_value value,
                       uint32_t count, double *mean, double *least, double *most)
{
    uint32_t next = 0;
    for (uint32_t column = 0; column < count; column++) {
        uint32_t first = rank_columns_first(table, column, count);
        uint32_t end = rank_columns_first(table, column + 1, count), seen = 0;
        double sum = 0;
        for (; next < cells->count && cells->rows[next].rank < end; next++, seen++) {
            double amount = rank_stats_value(&cells->rows[next], value);
            sum += amount;
            if (least && (!seen || amount < least[column]))
                least[column] = amount;
            if (most && amount > most[column])
                most[column] = amount;
        }
        close_column(end - first, seen, sum, &mean[column], least ? &least[column] : NULL);
    }
}
