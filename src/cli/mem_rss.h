/*
 * mem_rss: `sonde mem --rss`: memory of a program and of the processes that it starts over time, looked at from outside. The
 * program need not be Python, and nothing is changed in it.
 */
#ifndef SONDE_CLI_MEM_RSS_H
#define SONDE_CLI_MEM_RSS_H

#include <stdbool.h>
#include <stdint.h>

struct mem_rss {
    const char *output; /* pattern; NULL = made up */
    const char *format; /* NULL = by suffix */
    double interval_s;  /* between two looks; 0 = MEM_RSS_INTERVAL_S */
    bool children;      /* the processes that it starts, too, each by its number */
    bool pss, uss;      /* that instead of all that is resident */
    int64_t pid;        /* of a process that runs already; RUN_NO_PID = none */
    const char *duration;
    const char *module, *code; /* of the target, besides its words */
};

#define MEM_RSS_INTERVAL_S 0.1

/* The exit code: the target's, whose death by a signal is died too. */
int mem_rss_run(const struct mem_rss *values, int argc, char **argv);

#endif
