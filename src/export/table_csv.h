/*
 * table_csv: a report's tables as comma-separated values (RFC 4180 quoting, one header line, times in integer
 * nanoseconds, memory in bytes). Text that is not UTF-8 is left as it was recorded.
 */
#ifndef SONDE_EXPORT_TABLE_CSV_H
#define SONDE_EXPORT_TABLE_CSV_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/groups.h"

struct bytes;
struct ranking;
struct functions;
struct line_table;
struct recording;
struct regions;
struct tree;

/* One line for each row, in the table's order. `functions`: what they are of;
 * `are_functions`: whether rows are functions (else groups). */
void table_csv_rows(const struct recording *recording, const struct functions *functions,
                    const struct ranking *ranking, bool are_functions, struct bytes *out);
/* One line for each caller → callee pair, by callee, then caller. */
void table_csv_edges(const struct recording *recording, const struct functions *functions, struct bytes *out);
/* One line for each node, depth first, hottest first, with its number and its parent's. */
void table_csv_tree(const struct recording *recording, const struct tree *tree, struct bytes *out);
/* One line for each line that was timed, by function, then owner, then line. What is not known is empty. */
void table_csv_lines(const struct recording *recording, const struct line_table *table, enum group_by by,
                     struct bytes *out);
/* The regions, one row for each. */
void table_csv_regions(const struct recording *recording, const struct regions *regions, struct bytes *out);

/* For other tables: a field, quoted where it must be; and the three fields file, line, function. */
void table_csv_put_text(const char *text, struct bytes *out);
void table_csv_put_code(const struct recording *recording, uint32_t code, struct bytes *out);

#endif
