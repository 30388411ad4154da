/*
 * witness: tells whether a signal that reached the recorder went to its whole process group, the target included
 * (kill -TERM -PGID, scancel, a batch system's time limit), or to the recorder alone, for the target's sake. Only
 * the latter is passed on: a program must not get a signal twice.
 *
 * It is a small process in the target's group that waits for signals and reports their numbers. It dies with the
 * recorder.
 */
#ifndef SONDE_COLLECT_RECORDER_WITNESS_H
#define SONDE_COLLECT_RECORDER_WITNESS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct witness {
    pid_t pid;   /* 0 = none: every signal counts as meant for the target */
    int reports; /* pipe: one byte for each signal */
    bool seen[65];
};

/* Starts it with these signals, which must be blocked already, in that process group (0 = ours). Without one, things go
 * on. */
void witness_open(struct witness *witness, const sigset_t *signals, pid_t group);
void witness_close(struct witness *witness);

/* Whether the signal, which the recorder has just got, came to the witness too. Waits a moment for its word. */
bool witness_saw(struct witness *witness, int number);

#endif
