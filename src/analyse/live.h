/*
 * live: what a program is doing now, kept up to date with the samples as they come: functions, lines and threads with
 * their share of the latest interval and their time since the start, and the last minute of the whole.
 *
 * Times are sums of the samples' weights, fitted to the time that each thread was there. Shares are of the interval's length, so that several threads at work can
 * have more than one whole together. Own time belongs to the innermost frame that is shown; a function counts once in
 * a stack, however often it stands there. The interpreter's own machinery is passed over.
 *
 * A zeroed struct is empty. Ids are those of the recording that the rows came from; it must stay, its rows of samples
 * need not. The struct owns its arrays, which grow with the distinct functions, lines, stacks and threads, not with
 * time.
 */
#ifndef SONDE_ANALYSE_LIVE_H
#define SONDE_ANALYSE_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/tree.h"
#include "base/map.h"

struct err;
struct recording;

#define LIVE_SECONDS 60

struct live_row {
    uint32_t code, line;               /* line: 0 = the function as a whole */
    uint64_t own_ns, total_ns;         /* in the latest interval */
    uint64_t all_own_ns, all_total_ns; /* since the start */
    uint64_t stack;                    /* the last stack that it was counted in */
};

enum live_by { LIVE_FUNCTIONS, LIVE_LINES, LIVE_TABLES };

struct live_table {
    struct live_row *rows;
    uint32_t count, capacity;
    struct map index;      /* code, line → row */
    uint32_t *row_of_node; /* 0 = not looked up yet, 1 = not shown; else row + 2 */
};

struct live_thread {
    uint64_t running_ns, gil_ns, seen_ns; /* in the latest interval; seen: idle or not */
    uint64_t all_running_ns, all_gil_ns;
    double scale;       /* of its samples' weights in the latest interval */
    uint64_t latest_ns; /* when `node` was seen */
    uint32_t node;
};

/* One second of the last minute, of all threads together. */
struct live_second {
    uint64_t running_ns, gil_ns;
};

struct live {
    struct selection selection; /* which samples count in the tables: idle, gil */
    struct live_table tables[LIVE_TABLES];
    struct live_thread *threads; /* by the recording's id */
    uint32_t threads_count;
    uint64_t *weights_ns; /* by node, all 0 between calls */
    uint32_t nodes_count;
    uint64_t start_ns, begin_ns, end_ns;      /* of it all; of the latest interval */
    uint64_t running_ns, gil_ns;              /* in the latest interval */
    uint64_t samples;                         /* since the start */
    uint64_t stacks;                          /* counted so far */
    struct live_second seconds[LIVE_SECONDS]; /* ring, by second of the clock */
    uint64_t second;                          /* the latest in the ring */
};

void live_clear(struct live *live);
/* The recording's samples are those from the end of the latest interval (at first start_ns, set by the caller) to
 * `end_ns`. The latest interval is this one afterwards. An empty interval changes nothing. */
int live_add(struct live *live, const struct recording *recording, uint64_t end_ns, struct err *err);
/* Begins anew: all times are 0; the last minute stays. */
void live_reset(struct live *live);
/* Makes the whole time the latest interval, for a closing table. */
void live_take_all(struct live *live);
/* A copy to look at while the original goes on. `copy` must be empty. */
int live_copy(const struct live *live, struct live *copy, struct err *err);

/* Threads that were seen in the latest interval, and how many of these never ran in it. */
uint32_t live_threads(const struct live *live, uint32_t *idle);
/* `ago` seconds before the latest whole one; zeros when that was not seen. */
struct live_second live_second_ago(const struct live *live, unsigned ago);

#endif
