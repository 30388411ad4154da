/*
 * report_text: the report that people read: findings in words, what was recorded, then a table, the callers
 * or callees of its functions, or a tree; and the lines of functions whose lines were timed. Of memory the same, and
 * allocations by size.
 */
#ifndef SONDE_SHOW_REPORT_TEXT_H
#define SONDE_SHOW_REPORT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "analyse/groups.h"
#include "show/terminal.h"

struct bytes;
struct err;
struct findings;
struct recording;

enum report_view {
    REPORT_TABLE,
    REPORT_CALLERS,
    REPORT_CALLEES,
    REPORT_TREE,
    REPORT_BOTTOM_UP,
    REPORT_REGIONS
};

/* A zeroed struct is the plain report: functions by internal time, the first REPORT_TEXT_LIMIT of them. */
struct report_options {
    const char *name; /* of the file, for the heading; NULL = none */
    struct selection selection;
    const char *const *modules; /* that stacks were chosen by, for the heading */
    size_t module_count;
    enum report_view view;
    enum group_by by;
    enum label_paths paths;
    const char *const *sort; /* pstats' keys; none = tottime, or what the function itself allocated */
    size_t sort_count;
    bool reverse;
    const char *const *restrictions;
    size_t restriction_count;
    int64_t limit;      /* rows; 0 = REPORT_TEXT_LIMIT unless restrictions are given; negative = all */
    double min_percent; /* trees: paths below it are left out; 0 = REPORT_TEXT_MIN_PERCENT; negative = none */
    int64_t depth;      /* trees: 0 = any */
    bool no_findings;   /* only the view itself */
    double unit_s;      /* of line times; 0 = LINES_TEXT_UNIT_S */
    bool skip_zero;     /* functions with lines that never ran are left out */
    bool summarize;     /* line times: a list of the functions at the end */
    bool extremes;      /* line times: the shortest and the longest hit */
    int64_t precision;  /* memory of lines: digits; 0 = MEMORY_LINES_TEXT_PRECISION; negative = none */
    struct terminal terminal;
};

#define REPORT_TEXT_LIMIT       25
#define REPORT_TEXT_MIN_PERCENT 1.0

int report_text_put(const struct recording *recording, const struct report_options *options,
                    struct bytes *out, struct err *err);
int report_text_print(const struct recording *recording, const struct report_options *options, FILE *stream,
                      struct err *err);

/* The table's rows as the options choose, sort and cut them. `all` (may be NULL): how many there were. */
int report_text_rows(const struct recording *recording, const struct functions *functions,
                     const struct report_options *options, struct ranking *ranking, uint32_t *all,
                     struct err *err);
/* How many rows to show at most; negative = all. */
int64_t report_text_limit(const struct report_options *options);
void report_text_put_findings(const struct report_options *options, const struct findings *findings,
                              struct bytes *out);
/* What a row is called, after `used` columns; of a line also its text, where there is room. */
void report_text_put_label(const struct recording *recording, const struct report_options *options,
                           const struct ranking_row *row, unsigned used, struct bytes *out);
/* The heading of the column that says what a row is: "module". */
const char *report_text_noun(enum group_by by);

#endif
