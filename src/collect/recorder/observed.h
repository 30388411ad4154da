/*
 * observed: the processes of a program that is only looked at from outside, be it Python or not: which there are, from
 * when to when, and the counters of each.
 *
 * A zeroed struct is empty. It owns its rows; writer and counters are borrowed.
 */
#ifndef SONDE_COLLECT_RECORDER_OBSERVED_H
#define SONDE_COLLECT_RECORDER_OBSERVED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/recorder/counters.h"
#include "collect/recorder/followed.h"

struct observed_options {
    uint64_t interval_ns; /* between two looks */
    enum counters_memory memory;
    bool children; /* the processes that it starts, too */
};

struct observed_process;

struct observed {
    struct writer *writer;
    struct counters *counters;
    followed_describe *describe;
    bool children;
    struct observed_process *rows; /* the program itself first */
    size_t count, capacity;
    uint32_t met; /* processes, so far */
};

/* Begins with the program itself. */
void observed_begin(struct observed *observed, uint32_t pid);
/* A process that tells of itself: its id in the file. It is taken in if it was not seen yet; 0 = it is none of ours. */
uint32_t observed_meet(struct observed *observed, uint32_t pid, uint32_t parent_pid);
/* Takes in processes that came, lets go of those that went. False when the program itself is gone. */
bool observed_step(struct observed *observed, uint64_t now_ns);
/* A process has ended, with that exit code (INT32_MIN = not known). */
void observed_end(struct observed *observed, uint32_t pid, int32_t exit_code);
/* No more is looked at. How many were still running. */
uint32_t observed_finish(struct observed *observed);
void observed_clear(struct observed *observed);

#endif
