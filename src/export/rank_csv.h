/*
 * rank_csv: a run with many ranks as comma-separated values, as export/table_csv.h writes them: the functions, one line
 * for each, with how they are spread over the ranks; the ranks; or what functions took on each rank.
 */
#ifndef SONDE_EXPORT_RANK_CSV_H
#define SONDE_EXPORT_RANK_CSV_H

#include <stdint.h>

struct bytes;
struct err;
struct rank_rows;
struct rank_table;

void rank_csv_functions(const struct rank_table *table, const struct rank_rows *rows, struct bytes *out);
/* The call paths (of a table with paths), depth first, hottest first, with their numbers and their parents'. */
int rank_csv_paths(const struct rank_table *table, struct bytes *out, struct err *err);
void rank_csv_ranks(const struct rank_table *table, struct bytes *out);
/* A line for each of the functions (codes of the table's names) and each rank, also where it has nothing. */
void rank_csv_cells(const struct rank_table *table, const uint32_t *codes, uint32_t count, struct bytes *out);

#endif
