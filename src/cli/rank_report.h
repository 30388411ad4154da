/*
 * rank_report: the report of a run with many ranks, as text, CSV or JSON: its functions over all ranks, its ranks, or
 * chosen functions on each rank.
 */
#ifndef SONDE_CLI_RANK_REPORT_H
#define SONDE_CLI_RANK_REPORT_H

#include <stdbool.h>

struct bytes;
struct err;
struct rank_table;
struct report_options;

struct rank_report {
    const char
        *function; /* on each rank: a name, dotted or not, or a regular expression; NULL = all functions */
    bool by_rank;  /* the ranks instead of the functions */
    bool tree;     /* the call paths: the table must have them */
    bool csv, json;
};

int rank_report_put(const struct rank_table *table, const struct rank_report *report,
                    const struct report_options *options, struct bytes *out, struct err *err);
#endif
