/* rank_tree: the call tree of a run with many ranks, each path with how it is spread over them. */
#ifndef SONDE_SHOW_RANK_TREE_H
#define SONDE_SHOW_RANK_TREE_H

struct bytes;
struct err;
struct rank_table;
struct report_options;

/* Of the options it takes min_percent, depth, limit, paths and terminal. */
int rank_tree_put(const struct rank_table *table, const struct report_options *options, struct bytes *out,
                  struct err *err);

#endif
