/*
 * listener: the socket at which the processes that record announce themselves, and who they are.
 *
 * Only processes of one user, or root's, are heard. What they say is not trusted beyond its shape.
 */
#ifndef SONDE_COLLECT_RECORDER_LISTENER_H
#define SONDE_COLLECT_RECORDER_LISTENER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/agent/session.h"

struct err;

struct listener_message {
    struct session_hello hello;
    pid_t pid; /* of the process that it is about, as we see it */
    int fd;    /* that came with it, and is the caller's; -1 = none */
};

/* Opens a socket in the abstract namespace and gives its name. A descriptor, or -1. */
int listener_open(char *name, size_t name_bytes, struct err *err);
/* The next message; false when none is there. One that makes no sense has the message number 0. */
bool listener_take(int listener, uint32_t user, struct listener_message *message);

/* The parent of a process; 0 when it is gone. */
pid_t listener_parent(pid_t pid);

#endif
