/*
 * rank_rows: the functions of a rank_table as rows of a report, with their texts and how they are spread over the ranks.
 *
 * The ranking's `self` and `total` are means over all ranks, its calls and samples sums; `id` is the function's code among
 * the table's names. Restrictions (analyse/restrict.h) can be applied to it. Owns all that it names.
 */
#ifndef SONDE_ANALYSE_RANK_ROWS_H
#define SONDE_ANALYSE_RANK_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "analyse/rank_stats.h"
#include "analyse/ranking.h"

struct rank_rows {
    struct ranking ranking;
    struct rank_stats *stats; /* by code */
};

/* `value`: what the stats are of. */
int rank_rows_build(const struct rank_table *table, enum rank_value value, enum label_paths paths,
                    struct rank_rows *rows, struct err *err);
void rank_rows_clear(struct rank_rows *rows);
/* Keys: mean, min, max, std, imbalance (in per cent), imbalance-time, present, or those of ranking_sort. The first of
 * them that is of the ranks counts alone. Without any: mean. */
int rank_rows_sort(struct rank_rows *rows, const char *const *keys, size_t key_count, bool reverse,
                   struct err *err);
/* "standard deviation" for "std"; NULL for an unknown key. */
const char *rank_rows_key_words(const char *key);
/* Whether the keys are about the functions' own time, so that the stats should be, too. */
bool rank_rows_are_of_self(const char *const *keys, size_t key_count);

#endif
