/*
 * line_table: the lines of each function whose lines were timed, or their memory measured: threads, processes and ranks added up, or apart.
 *
 * Functions are those with the same file, first line and qualified name: code that was compiled again (reload, exec)
 * is the same function. They are by code, then owner; their rows are by line. A function that was chosen but never
 * ran is there, without rows. The table owns its arrays.
 */
#ifndef SONDE_ANALYSE_LINE_TABLE_H
#define SONDE_ANALYSE_LINE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/groups.h"

struct bytes;
struct err;
struct functions;
struct recording;
struct selection;

/* What a line grew by in all its hits, and how much there was at most after one. */
struct line_table_memory {
    bool known;
    int64_t heap_growth_bytes, rss_growth_bytes;
    uint64_t heap_bytes, rss_bytes; /* heap_bytes 0 = the heap was not measured */
};

struct line_table_row {
    uint32_t line;
    bool sums_only; /* some of it is from a file that knows only hits and total_ns: the rest is not whole */
    uint64_t hits;
    uint64_t total_ns, self_ns;
    uint64_t min_ns, max_ns; /* of one hit */
    struct line_table_memory memory;
};

struct line_table_function {
    uint32_t code;         /* the first of those that are the same function */
    uint32_t owner;        /* a thread or process, as was asked for; 0 = all, or unknown */
    uint32_t first, count; /* rows */
    bool sums_only;        /* one of its rows is */
    bool has_memory;       /* one of its rows has */
    uint64_t hits;
    uint64_t total_ns, self_ns;
};

struct line_table {
    struct line_table_function *functions;
    uint32_t function_count;
    struct line_table_row *rows;
    uint32_t row_count;
    uint64_t hits;
    bool sums_only;
    bool has_heap; /* some row's heap was measured */
};

/* `by`: GROUP_THREAD and GROUP_PROCESS keep those apart; all else adds them up. */
int line_table_build(const struct recording *recording, const struct selection *selection, enum group_by by,
                     struct line_table *table, struct err *err);
void line_table_clear(struct line_table *table);

/* Why a recording has no line times, or none that were asked for, and what to do: sentences for people. */
void line_table_explain(const struct recording *recording, struct bytes *text);

/* The functions, owners added up, as a table of functions: their calls are the hits of their lines. Where only sums are
 * known, a function's own time is its total time. */
int line_table_functions(const struct line_table *table, struct functions *functions, struct err *err);
/* The first of the code's functions; NULL when it has none. */
const struct line_table_function *line_table_find(const struct line_table *table, uint32_t code);

#endif
