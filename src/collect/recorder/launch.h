/*
 * launch: starts the target with the session in its environment, and passes on the signals that the parent gets
 * in its stead.
 */
#ifndef SONDE_COLLECT_RECORDER_LAUNCH_H
#define SONDE_COLLECT_RECORDER_LAUNCH_H

#include <signal.h>
#include <sys/types.h>

struct err;

struct launch {
    char *const *argv;    /* found on PATH as execvp does */
    const char *agent;    /* path of the agent */
    const char *heap;     /* path of what counts allocations; NULL = they are not counted */
    const char *settings; /* text of the session variable; the target's pid is added. NULL = no session */
    pid_t group;          /* the process group that the target joins; 0 = ours */
    const sigset_t *mask; /* the signal mask that the target gets */
    const struct sigaction *child_action; /* what SIGCHLD does there at first: it may be ignored */
};

/* The pid of the running target, or -1 when it could not be executed. */
pid_t launch_start(const struct launch *launch, struct err *err);

#endif
