/*
 * rank_json: a run with many ranks as one JSON document: findings, efficiency, ranks, functions with how they are spread
 * over the ranks; of chosen functions also what they took on each rank. Amounts are as in export/report_json.h.
 */
#ifndef SONDE_EXPORT_RANK_JSON_H
#define SONDE_EXPORT_RANK_JSON_H

#include <stdint.h>

struct bytes;
struct err;
struct rank_rows;
struct rank_table;

/* `codes`: functions (of the table's names) whose cells are wanted. */
int rank_json_put(const struct rank_table *table, const struct rank_rows *rows, const uint32_t *codes,
                  uint32_t code_count, struct bytes *out, struct err *err);

#endif
