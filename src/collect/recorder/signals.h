/*
 * signals: those that the recorder gets in the target's stead: blocked and read from a descriptor, so that they come
 * one after the other, between other work. A zeroed struct with `fd` below 0 is closed.
 */
#ifndef SONDE_COLLECT_RECORDER_SIGNALS_H
#define SONDE_COLLECT_RECORDER_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/signalfd.h>

#include "collect/recorder/witness.h"

struct err;

struct signals {
    int fd;
    bool is_blocking;                  /* they are blocked, and stay so when this is closed */
    sigset_t old_mask;                 /* that the target is to have, as it is to have */
    struct sigaction old_child_action; /* what SIGCHLD did before */
    struct witness witness;
};

/* `group`: the target's process group, when it is not ours; else 0. */
int signals_open(struct signals *signals, pid_t group, struct err *err);
/* The next one; false when none is there. */
bool signals_take(struct signals *signals, struct signalfd_siginfo *info);
/* Whether the target has it already: what the terminal sends goes to the whole foreground group; what somebody sends to
 * this process alone was meant for the program. */
bool signals_went_to_group(struct signals *signals, const struct signalfd_siginfo *info);
void signals_close(struct signals *signals);

#endif
