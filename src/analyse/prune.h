/*
 * prune: cuts a call graph down to what is worth drawing, by clearing `kept`. Each step works on what the steps
 * before have kept; a call is dropped with either of its functions.
 */
#ifndef SONDE_ANALYSE_PRUNE_H
#define SONDE_ANALYSE_PRUNE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct callgraph;
struct callgraph_function;
struct err;

struct prune_limits {
    double function_share; /* less than this of the total: dropped */
    double call_share;
    const char **paths; /* when any: only functions whose file begins with one of them */
    size_t path_count;
};
void prune_by_limits(struct callgraph *graph, const struct prune_limits *limits);

/* The hottest functions alone, at most `count`. */
void prune_to_hottest(struct callgraph *graph, uint32_t count);

/* Whether a glob over "module:line:function" selects the function. */
bool prune_matches(const struct callgraph_function *function, const char *glob);

/* Keeps what the functions selected by the glob reach (or what reaches them) in at most `depth` calls;
 * depth < 0 = any. A glob without ':' that fits no whole name is tried on the functions' own names. */
enum prune_direction { PRUNE_CALLEES, PRUNE_CALLERS };
int prune_to(struct callgraph *graph, const char *glob, enum prune_direction direction, int64_t depth,
             struct err *err);
/* The same from where the program entered: functions that nothing calls but themselves or their cycle. */
int prune_to_entries(struct callgraph *graph, int64_t depth, struct err *err);

#endif
