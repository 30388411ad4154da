#include "analyse/rank_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/sort.h"

static const struct stat_key {
    const char *name;
    size_t offset;
    const char *words;
} stat_keys[] = {
    {"mean", offsetof(struct rank_stats, mean), "mean"},
    {"min", offsetof(struct rank_stats, min), "the least of a rank"},
    {"max", offsetof(struct rank_stats, max), "the most of a rank"},
    {"std", offsetof(struct rank_stats, deviation), "standard deviation"},
    {"imbalance", offsetof(struct rank_stats, imbalance_share), "imbalance"},
    {"imbalance-time", offsetof(struct rank_stats, imbalance), "imbalance time"},
};

#define STAT_COUNT  (sizeof stat_keys / sizeof *stat_keys)
#define KEY_PRESENT STAT_COUNT /* an integer, unlike the others */
#define KEY_NONE    (STAT_COUNT + 1)

static size_t find_stat(const char *key)
{
    for (size_t i = 0; i < STAT_COUNT; i++)
        if (strcmp(stat_keys[i].name, key) == 0)
            return i;
    return strcmp(key, "present") == 0 ? KEY_PRESENT : KEY_NONE;
}

const char *rank_rows_key_words(const char *key)
{
    size_t found = find_stat(key);
    if (found == KEY_PRESENT)
        return "number of ranks";
    return found == KEY_NONE ? ranking_key_words(key) : stat_keys[found].words;
}

bool rank_rows_are_of_self(const char *const *keys, size_t key_count)
{
    for (size_t i = 0; i < key_count; i++) {
        const char *words = find_stat(keys[i]) == KEY_NONE ? ranking_key_words(keys[i]) : NULL;
        if (words && strcmp(words, "internal time") == 0)
            return true;
    }
    return false;
}

void rank_rows_clear(struct rank_rows *rows)
{
    ranking_clear(&rows->ranking);
    free(rows->stats);
    *rows = (struct rank_rows){0};
}

static struct function_row row_of(const struct rank_table *table, uint32_t code)
{
    const struct rank_cells *cells = &table->functions[code];
    struct function_row row = {.code = code};
    uint64_t self = 0, total = 0;
    for (uint32_t i = 0; i < cells->count; i++) {
        row.calls += cells->rows[i].calls;
        row.total_samples += cells->rows[i].samples;
        self += cells->rows[i].self;
        total += cells->rows[i].total;
    }
    row.primitive_calls = row.calls;
    row.self = self / table->rank_count;
    row.total = total / table->rank_count;
    return row;
}

static int build_ranking(const struct rank_table *table, struct rank_rows *rows, enum rank_value value,
                         enum label_paths paths, struct err *err)
{
    struct functions functions = {.measure = table->measure, .sampled = table->sampled};
    uint32_t count = table->names.codes_count;
    functions.rows = calloc((size_t)count + 1, sizeof *functions.rows);
    rows->stats = calloc((size_t)count + 1, sizeof *rows->stats);
    for (uint32_t code = 1; functions.rows && rows->stats && code < count; code++) {
        if (!table->functions[code].count)
            continue;
        functions.rows[functions.row_count++] = row_of(table, code);
        rows->stats[code] = rank_stats_of(table, &table->functions[code], value);
    }
    int result = functions.rows && rows->stats
                     ? ranking_build(&table->names, &functions, paths, &rows->ranking, err)
                     : err_set(err, "not enough memory for %u functions", count);
    functions_clear(&functions);
    return result;
}

int rank_rows_build(const struct rank_table *table, enum rank_value value, enum label_paths paths,
                    struct rank_rows *rows, struct err *err)
{
    *rows = (struct rank_rows){0};
    if (build_ranking(table, rows, value, paths, err) == 0)
        return 0;
    rank_rows_clear(rows);
    return -1;
}

struct order {
    const struct rank_stats *stats;
    size_t key;
    bool reverse;
};

static double key_value(const struct order *order, const struct ranking_row *row)
{
    const struct rank_stats *stats = &order->stats[row->id];
    if (order->key == KEY_PRESENT)
        return stats->present;
    double value;
    memcpy(&value, (const char *)stats + stat_keys[order->key].offset, sizeof value);
    return value;
}

static int compare(const void *one, const void *other, void *context)
{
    const struct order *order = context;
    const struct ranking_row *a = one, *b = other;
    double left = key_value(order, a), right = key_value(order, b);
    int result = left == right ? strcmp(a->label, b->label) : left > right ? -1 : 1;
    return order->reverse ? -result : result;
}

int rank_rows_sort(struct rank_rows *rows, const char *const *keys, size_t key_count, bool reverse,
                   struct err *err)
{
    struct order order = {.stats = rows->stats, .reverse = reverse, .key = key_count ? KEY_NONE : 0};
    for (size_t i = 0; i < key_count && order.key == KEY_NONE; i++)
        order.key = find_stat(keys[i]);
    struct ranking *ranking = &rows->ranking;
    if (order.key != KEY_NONE)
        return sort_rows(ranking->rows, ranking->count, sizeof *ranking->rows, compare, &order, err);
    for (size_t i = 0; i < key_count; i++)
        if (!ranking_key_words(keys[i]))
            return err_set(err,
                           "'%s' is not a sort key of a run with ranks: use mean, min, max, std, imbalance, "
                           "imbalance-time, present, calls, cumulative, tottime, name or filename",
                           keys[i]);
    return ranking_sort(ranking, keys, key_count, reverse, err);
}
