/*
 * mem_rss: `sonde mem --rss`: memory of a program and of the processes that it starts over time, looked at from outside. The
 * program need not be Python, and nothing is changed in it.
 */
#ifndef SONDE_CLI_MEM_RSS_H
#define SONDE_CLI_MEM_RSS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/options.h"

struct run_request;
struct target_request;

/* What only --rss has; MEM_RSS_OPTIONS fill it. */
struct mem_rss {
    bool wanted;
    double interval_s; /* between two looks; 0 = MEM_RSS_INTERVAL_S */
    bool children;     /* the processes that it starts, too, each by its number */
    bool pss, uss;     /* that instead of all that is resident */
};

#define MEM_RSS_INTERVAL_S 0.1

static inline bool mem_rss_is_wanted(const struct mem_rss *values)
{
    return values->wanted || values->pss || values->uss;
}

/* The exit code: the target's, whose death by a signal is died too. */
int mem_rss_run(const struct mem_rss *values, const struct run_request *request,
                const struct target_request *target, uint64_t duration_ns);

/* Rows of the option table; `field` is the struct mem_rss in `type`. */
#define MEM_RSS_OPTIONS(type, field)                                                                         \
    {"Memory over time, from outside", .kind = OPTION_HEADING},                                              \
        OPTION_ROW(                                                                                          \
            "rss", 0, OPTION_FLAG, NULL, offsetof(type, field.wanted), NULL,                                 \
            "Record only how much memory the program has over time, as the system counts it. Nothing is "    \
            "changed in it, and it need not be Python; -o x.dat writes a file for mprof."),                  \
        OPTION_ROW("interval", 0, OPTION_REAL, "SECONDS", offsetof(type, field.interval_s), NULL,            \
                   "Between two looks (default 0.1)."),                                                      \
        OPTION_ROW("children", 0, OPTION_FLAG, NULL, offsetof(type, field.children), NULL,                   \
                   "The processes that it starts, too, each by its number."),                                \
        OPTION_ROW("pss", 0, OPTION_FLAG, NULL, offsetof(type, field.pss), NULL,                             \
                   "Divide pages that several processes share among them."),                                 \
        OPTION_ROW("uss", 0, OPTION_FLAG, NULL, offsetof(type, field.uss), NULL,                             \
                   "Count only pages that no other process has.")

#endif
