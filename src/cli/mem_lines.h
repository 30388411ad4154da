/*
 * mem_lines: `sonde mem --lines`: memory of every line of chosen functions, as memory_profiler tells it. The command's
 * option table is cmd_mem.c's.
 */
#ifndef SONDE_CLI_MEM_LINES_H
#define SONDE_CLI_MEM_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/options.h"
#include "show/memory_lines_text.h"

struct run_request;
struct target_request;

/* What only --lines has. */
struct mem_lines {
    bool wanted;
    struct option_list functions;
    double stop_at_mb; /* of resident memory, where the debugger is to stop; 0 = nowhere */
    int64_t precision; /* digits in the table */
    bool view;         /* the table is printed at the end */
    bool threads;      /* they are kept apart */
};

#define MEM_LINES_DEFAULTS                                                                                   \
    {                                                                                                        \
        .precision = MEMORY_LINES_TEXT_PRECISION, .view = true                                               \
    }

/* The exit code. */
int mem_lines_run(const struct mem_lines *lines, const struct run_request *request,
                  const struct target_request *target);

#endif
