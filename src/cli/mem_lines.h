/*
 * mem_lines: `sonde mem --lines`: memory of every line of chosen functions, as memory_profiler tells it. The command's
 * option table is cmd_mem.c's.
 */
#ifndef SONDE_CLI_MEM_LINES_H
#define SONDE_CLI_MEM_LINES_H

#include <stdbool.h>

#include "cli/live_view.h"
#include "cli/options.h"
#include "cli/part_options.h"
#include "cli/target.h"

struct marks_option;

struct mem_lines_options {
    const char *output; /* pattern of the recording; NULL = made up */
    const char *format; /* NULL = by suffix */
    const char *ranks;  /* as --ranks has them */
    struct option_list functions;
    double stop_at_mb; /* of resident memory, where the debugger is to stop; 0 = nowhere */
    int64_t precision; /* digits in the table */
    bool view;         /* the table is printed at the end */
    bool threads;      /* they are kept apart */
    bool follow;       /* processes that the program starts are measured, too */
    struct part part;
    const char *embed_source;
    struct live_view_options live;
    const struct marks_option *marks;
    struct target_request target;
};

/* The exit code. */
int mem_lines_run(const struct mem_lines_options *options);

#endif
