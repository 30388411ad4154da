/*
 * marks_option: named ranges that come from outside of the program's text: --marks, --nvtx and --nvtx-in, which all commands
 * have that start a program and record it.
 */
#ifndef SONDE_CLI_MARKS_OPTION_H
#define SONDE_CLI_MARKS_OPTION_H

#include <stdbool.h>

#include "cli/options.h"

struct bytes;

struct marks_option {
    struct option_list files;
    bool nvtx;
    bool nvtx_in;
};

/* The default of a struct marks_option in the defaults of a command. */
#define MARKS_OPTION_DEFAULTS                                                                                \
    {                                                                                                        \
        .nvtx_in = true                                                                                      \
    }

/* Reads the files and appends lines to the settings of a session. */
int marks_option_put_settings(const struct marks_option *marks, struct bytes *settings, struct err *err);
/* What is asked for needs a program that is started; `pid` is one that runs already, or 0. */
int marks_option_check(const struct marks_option *marks, uint32_t pid, struct err *err);

/* Rows of the option table; `field` is the struct marks_option in `type`. */
#define MARKS_OPTIONS(type, field)                                                                           \
    OPTION_ROW("marks", 0, OPTION_LIST, "FILE", offsetof(type, field.files), NULL,                           \
               "Make named regions of the calls of functions that FILE names (.json, .toml, or .py with a "  \
               "list functions_desc), without touching the program. May be given several times."),           \
        OPTION_ROW(                                                                                          \
            "nvtx", 0, OPTION_FLAG, NULL, offsetof(type, field.nvtx), NULL,                                  \
            "Tell regions, timers and marks to NVTX as well, domain sonde, for nsys and ncu to show."),      \
        OPTION_ROW("nvtx-in", 0, OPTION_FLAG, NULL, offsetof(type, field.nvtx_in), NULL,                     \
                   "Do not record the NVTX ranges of other libraries (torch, cupy, NCCL, ...). They are "    \
                   "recorded unless another tool listens to them.")

#endif
