/*
 * mem_rss: `sonde mem --rss`: memory of a program and of the processes that it starts over time, looked at from outside. The
 * program need not be Python, and nothing is changed in it.
 */
#ifndef SONDE_CLI_MEM_RSS_H
#define SONDE_CLI_MEM_RSS_H

#include <stdbool.h>
#include <stdint.h>

struct marks_option;

#include "cli/live_view.h"

/* What only --rss has; MEM_RSS_OPTIONS fill it. */
struct mem_rss {
    bool wanted;
    double interval_s; /* between two looks; 0 = MEM_RSS_INTERVAL_S */
    bool children;     /* the processes that it starts, too, each by its number */
    bool pss, uss;     /* that instead of all that is resident */
};

/* What it has in common with the rest of the command, checked. */
struct mem_rss_target {
    const char *output, *format, *ranks;
    uint32_t pid;         /* of a process that runs already; 0 = none */
    uint64_t duration_ns; /* 0 = until the program ends */
    struct live_view_options live;
    const struct marks_option *marks;
    const char *module, *code;
    int argc;
    char **argv;
};

#define MEM_RSS_INTERVAL_S 0.1

static inline bool mem_rss_is_wanted(const struct mem_rss *values)
{
    return values->wanted || values->pss || values->uss;
}

/* The exit code: the target's, whose death by a signal is died too. */
int mem_rss_run(const struct mem_rss *values, const struct mem_rss_target *target);

/* Rows of the option table; `field` is the struct mem_rss in `type`. */
#define MEM_RSS_OPTIONS(type, field)                                                                         \
    {"Memory over time, from outside", .kind = OPTION_HEADING},                                              \
        {"rss",                                                                                              \
         0,                                                                                                  \
         OPTION_FLAG,                                                                                        \
         NULL,                                                                                               \
         offsetof(type, field.wanted),                                                                       \
         NULL,                                                                                               \
         "Record only how much memory the program has over time, as the system counts it. Nothing is "       \
         "changed in it, and it need not be Python; -o x.dat writes a file for mprof."},                     \
        {"interval",                                                                                         \
         0,                                                                                                  \
         OPTION_REAL,                                                                                        \
         "SECONDS",                                                                                          \
         offsetof(type, field.interval_s),                                                                   \
         NULL,                                                                                               \
         "Between two looks (default 0.1)."},                                                                \
        {"children",                                                                                         \
         0,                                                                                                  \
         OPTION_FLAG,                                                                                        \
         NULL,                                                                                               \
         offsetof(type, field.children),                                                                     \
         NULL,                                                                                               \
         "The processes that it starts, too, each by its number."},                                          \
        {"pss",                                                                                              \
         0,                                                                                                  \
         OPTION_FLAG,                                                                                        \
         NULL,                                                                                               \
         offsetof(type, field.pss),                                                                          \
         NULL,                                                                                               \
         "Divide pages that several processes share among them."},                                           \
    {                                                                                                        \
        "uss", 0, OPTION_FLAG, NULL, offsetof(type, field.uss), NULL,                                        \
            "Count only pages that no other process has."                                                    \
    }

#endif
