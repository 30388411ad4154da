/*
 * remote: a run that is recorded elsewhere (`--live`), copied as it grows. A process of its own asks for the recording's
 * bytes and puts them into a file in memory, so that whoever reads it never waits for a network. Nobody need be there
 * yet; after a run the next is waited for; a connection that breaks is made again, and goes on where it was.
 *
 * The struct owns the process, the memory that both share, and the file.
 */
#ifndef SONDE_CLI_REMOTE_H
#define SONDE_CLI_REMOTE_H

#include <stdint.h>
#include <sys/types.h>

#include "cli/host_address.h"

struct err;

enum remote_state {
    REMOTE_WAITING,   /* nobody is there */
    REMOTE_CONNECTED, /* it grows */
    REMOTE_LOST,      /* it grew, and then the connection broke */
    REMOTE_ENDED,     /* all of it is here; the next run is waited for */
    REMOTE_REFUSED,   /* the token is wrong or missing */
    REMOTE_FOREIGN,   /* who answers is no sonde */
    REMOTE_UNKNOWN,   /* no machine has that name */
};

struct remote_board;

struct remote {
    pid_t pid; /* 0 = none */
    int file;  /* what was taken of the run */
    int wake;  /* an eventfd: something is new */
    struct remote_board *board;
};

/* Where it stands. */
struct remote_news {
    enum remote_state state;
    uint32_t run; /* counts the runs: with another one the file began anew */
};

/* The address must outlive it. */
int remote_open(struct remote *remote, const struct host_address *address, struct err *err);
void remote_close(struct remote *remote);
struct remote_news remote_look(const struct remote *remote);

#endif
