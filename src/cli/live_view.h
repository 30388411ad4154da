/*
 * live_view: a run that can be looked at while it is recorded (`--live`). A child of the recorder serves the page and
 * follows the file that grows (cli/live_server). The recorder never waits for it: it sees in shared memory whether
 * somebody looks on, and leaves word there and in an eventfd when more has been written. So a viewer that is slow or stuck
 * costs the program nothing.
 *
 * A zeroed struct is a run that is not served, for which all calls do nothing. It owns the child and the memory.
 */
#ifndef SONDE_CLI_LIVE_VIEW_H
#define SONDE_CLI_LIVE_VIEW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/options.h"

struct err;

#define LIVE_VIEW_PORT 8086

/* What the options say. */
struct live_view_options {
    const char *at; /* "[HOST:]PORT", "" = the default; NULL = the run is not served */
    bool wait;      /* the program starts when somebody looks on */
};

struct live_view_subject {
    const char *path; /* of the recording: a plain file that has begun */
    int fd;           /* that it is written to, which the child must not hold */
    const char *run;  /* tells this run from others */
    uint32_t rank;    /* of several, each is served, at the port plus its rank; RANK_NONE = it is none */
};

struct live_board;

struct live_view {
    pid_t pid; /* 0 = the run is not served */
    int wake;  /* an eventfd: look at the file */
    int news;  /* a pipe: a byte when the first viewer comes, its end when the child has gone */
    struct live_board *board;
};

/* Says where it is served. */
int live_view_open(struct live_view *live, const struct live_view_options *options,
                   const struct live_view_subject *subject, struct err *err);
/* Waits for the first viewer. 0, or the number of the signal that ended it. */
int live_view_wait(struct live_view *live);

bool live_view_is_watched(const struct live_view *live);
/* More has been written. */
void live_view_grown(struct live_view *live);
/* The recording is whole. */
void live_view_ended(struct live_view *live);
/* Waits until those who look on have all of it, or for a signal. */
void live_view_linger(struct live_view *live);
void live_view_close(struct live_view *live);

/* Option rows; `field` is the struct live_view_options in `type`. */
#define LIVE_VIEW_OPTIONS(type, field)                                                                       \
    OPTION_ROW("live", 0, OPTION_OPEN, "[HOST:]PORT", offsetof(type, field.at), NULL,                        \
               "Serve a page that shows the run while it goes on, at 127.0.0.1:8086 or the next free port. " \
               "There your own user needs no token; at another HOST, such as 0.0.0.0, everybody does. A "    \
               "rank's port is the number plus its rank."),                                                  \
        OPTION_ROW("live-wait", 0, OPTION_FLAG, NULL, offsetof(type, field.wait), NULL,                      \
                   "With --live: start the program when somebody looks at the page.")

#endif
