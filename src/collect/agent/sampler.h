/*
 * sampler: looks at every thread of this process at random instants (exponential intervals, so that no loop of the
 * program can march in step with them). A running thread is sent a signal and writes down its own stack; a sleeping
 * one is read, and believed only if it slept all the while.
 *
 * It is a process that shares this one's memory, not a thread: a program that counts its threads, or forks (which
 * 3.12 and later warn of when there are several), does not meet it, and a fork need not stop it. All its signals are
 * blocked and all its descriptors closed.
 */
#ifndef SONDE_COLLECT_AGENT_SAMPLER_H
#define SONDE_COLLECT_AGENT_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

struct current_calls;
struct sample_area;

/* Whom the samples are of. */
struct sampled_process {
    uint32_t python;
    uint64_t pid, parent_pid;
    struct clock_pair since;
};

/* Makes an announced area; NULL when there is no memory, or no recorder any more. */
typedef struct sample_area *sampler_open_area(const struct sampled_process *process);

/* `open_area` is called again for every forked child. `main_process`: this is the one that the recorder started. NULL,
 * or why there is no sampling. */
const char *sampler_start(sampler_open_area *open_area, bool main_process);
/* In the child of a fork. Starts a sampler and goes on; the sampler makes the area when it first looks at the child, at
 * a random instant like all others. A child that has ended by then, or is another program, has cost no more than that. */
void sampler_after_fork(void);

/* From now on samples show what a thread calls just now. */
void sampler_show_calls(const struct current_calls *calls);

/* Held, it sends no signal, and none is on its way. */
void sampler_hold(bool held);

/* While it rests it takes no samples, and hardly any time. */
void sampler_rest(bool resting);

/* A process was started that cannot be followed. */
void sampler_note_unfollowed(void);

/* Around an exec: a signal that is on its way would kill the new program, which knows nothing of it. */
void sampler_before_exec(void);
void sampler_exec_failed(void);

/* See agent.h. */
void sampler_watch(const uint32_t *word, int (*changed)(void));

#endif
