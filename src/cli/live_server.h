/*
 * live_server: the child process that serves a run while it is recorded: the page, the answers to its questions, and the
 * recording's own bytes to those who want to have all of it. It takes no signals: the recorder ends it, by its own end if
 * need be.
 *
 * When the recording is whole, pages are told to take it over ("leaving"), and the child goes when none is left, or when
 * for LIVE_SERVER_LAST_NS none has taken any of it.
 */
#ifndef SONDE_CLI_LIVE_SERVER_H
#define SONDE_CLI_LIVE_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "cli/view_site.h"

#define LIVE_SERVER_LAST_NS UINT64_C(10000000000)

/* In memory that both share. */
struct live_board {
    uint32_t viewers; /* the child says how many look on */
    uint32_t looks;   /* and how often it has looked: that it lives */
    uint32_t ended;   /* the recorder says that the recording is whole */
};

/* How it started: sent to the recorder as it is, through a pipe. */
struct live_server_start {
    uint16_t port; /* 0 = it could not, and err says why */
    char token[VIEW_SITE_TOKEN_SIZE];
    struct err err;
};

struct live_server_options {
    const char *host;
    uint16_t port;
    bool other_ports;
    const char *path, *run;
    int not_ours; /* a descriptor to close: the recorder's lock must end with it */
    int wake;     /* an eventfd: there is more */
    int news;     /* where the start is told, then a byte when the first viewer comes */
    struct live_board *board;
};

/* In the child; `recorder` is its parent. */
_Noreturn void live_server_run(const struct live_server_options *options, int32_t recorder);

#endif
