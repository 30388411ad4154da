/*
 * recorder_state: one run while it is recorded, and what its beginning (recorder_start.c) and the rest of it (recorder.c,
 * and recorder_roster.c for its processes) ask of each other. Private to the recorder, which owns all of it.
 */
#ifndef SONDE_COLLECT_RECORDER_RECORDER_STATE_H
#define SONDE_COLLECT_RECORDER_RECORDER_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "collect/outside/attach.h"
#include "collect/recorder/counters.h"
#include "collect/recorder/hot_functions.h"
#include "collect/recorder/invitation.h"
#include "collect/recorder/native_files.h"
#include "collect/recorder/observed.h"
#include "collect/recorder/recorder.h"
#include "collect/recorder/signals.h"

struct recorder {
    const struct recorder_options *options;
    struct recorder_result *result;
    int listener;
    struct signals signals;
    pid_t target;
    bool target_ended;
    struct followed *followed;
    size_t count, capacity;
    struct clock_pair start;
    double first_rate; /* ns per tick at the first checkpoint */
    uint64_t interval_ns, next_ns;
    uint64_t written_ns;  /* when all that was there was last written */
    uint64_t over_ns;     /* when sampling ends though the program goes on; 0 = it does not */
    uint64_t progress_ns; /* when it is told next */
    bool over;
    struct native_files native_files;
    struct hot_functions hot;
    struct attach attach;         /* of a process that ran already */
    struct invitation invitation; /* of one that was asked to count its own allocations */
    struct counters counters;
    struct observed observed; /* of a program that is only looked at */
};

static inline struct clock_rate recorder_state_rate(const struct recorder *recorder)
{
    bool counter = clock_has_counter();
    return clock_rate_between(recorder->start, clock_read_pair(counter), counter);
}

/* Starts the program, or begins with one that runs already. */
int recorder_start(struct recorder *recorder, struct err *err);

/* Sampling ends then, though the program may go on. */
void recorder_end_sampling_at(struct recorder *recorder, uint64_t ns);
/* What attach tells of. */
void recorder_take_attached(void *context, uint32_t pid, const struct session_hello *hello, int fd);
void recorder_end_attached(void *context, uint32_t pid, bool is_program, const char *why);

#endif
