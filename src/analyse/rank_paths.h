/*
 * rank_paths: the call paths of a rank_table (one that was made with paths) as a tree: node i is path i of the table, with
 * sums over all ranks, so that it can be walked with the hottest first; its cells say how it is spread.
 */
#ifndef SONDE_ANALYSE_RANK_PATHS_H
#define SONDE_ANALYSE_RANK_PATHS_H

#include "analyse/rank_table.h"

/* Clear it with tree_clear. */
int rank_paths_build(const struct rank_table *table, struct tree *tree, struct err *err);

#endif
