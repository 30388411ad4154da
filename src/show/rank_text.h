/*
 * rank_text: the report of a run with many ranks: findings in words, how well the ranks are used, then the functions with
 * what they took on the ranks; or the ranks one by one.
 */
#ifndef SONDE_SHOW_RANK_TEXT_H
#define SONDE_SHOW_RANK_TEXT_H

#include <stdint.h>

struct bytes;
struct err;
struct rank_rows;
struct rank_table;
struct report_options;

/* Of the options it takes the name, terminal, paths, order, restrictions, limit, and whether findings are wanted. */
int rank_text_put(const struct rank_table *table, const struct report_options *options, struct bytes *out,
                  struct err *err);
/* The same with the call tree in place of the functions (show/rank_tree.h). */
int rank_text_put_tree(const struct rank_table *table, const struct report_options *options,
                       struct bytes *out, struct err *err);
/* A row for each rank: how long it took, what it did. */
int rank_text_put_ranks(const struct rank_table *table, const struct report_options *options,
                        struct bytes *out, struct err *err);
/* The functions as the options choose, sort and cut them; clear them with rank_rows_clear. `all` (may be NULL): how many
 * there were. */
int rank_text_rows(const struct rank_table *table, const struct report_options *options,
                   struct rank_rows *rows, uint32_t *all, struct err *err);

#endif
