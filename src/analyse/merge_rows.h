/*
 * merge_rows: the rows of one recording behind those of the sum that it is added to (analyse/merge.h), each with the ids that it
 * has there. Rows that say the same are not added up here: merge_take does that for all.
 */
#ifndef SONDE_ANALYSE_MERGE_ROWS_H
#define SONDE_ANALYSE_MERGE_ROWS_H

struct merge_ids;

/* All but flat functions and edges, and metas. Nodes, processes and threads must have their ids. */
void merge_rows_add(struct merge_ids *ids);
/* Only times of lines; where threads have no ids, as if all were of one. */
void merge_rows_add_lines(struct merge_ids *ids);

#endif
