/*
 * top_watch: the process that looks on: takes the bytes of a recording as they are made by another process, and shows
 * what they say, on the terminal or as tables of text.
 */
#ifndef SONDE_CLI_TOP_WATCH_H
#define SONDE_CLI_TOP_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "analyse/tree.h"

struct top_watch {
    int bytes;           /* where the recording comes from */
    int output;          /* a file that the program writes to; -1 = it writes where it wants */
    pid_t recorder;      /* SIGINT to it ends the recording, and the program if it was started here */
    bool owns_program;   /* it was */
    const char *program; /* for the heading */
    bool batch;
    int table; /* batch: where the tables go */
    bool color, full_filenames, lines;
    bool native;      /* the recording has native frames */
    unsigned limit;   /* rows of a table of text */
    unsigned columns; /* of it */
    uint64_t rate_hz;
    uint64_t delay_ns;
    uint64_t duration_ns; /* 0 = no limit */
    struct selection selection;
};

/* How it ended; the exit code of the process that watches. */
enum top_watch_end { TOP_WATCH_ENDED = 0, TOP_WATCH_LEFT = 10, TOP_WATCH_FAILED = 11 };

enum top_watch_end top_watch(const struct top_watch *watch);

#endif
