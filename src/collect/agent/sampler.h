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

struct sample_area;

/* `open_area` makes an announced area; called again in every forked child. `main_process`: this is the one that the
 * recorder started. NULL, or why there is no sampling. */
const char *sampler_start(struct sample_area *(*open_area)(uint32_t python), bool main_process);
/* In the child of a fork. */
void sampler_after_fork(void);

/* Around an exec: a signal that is on its way would kill the new program, which knows nothing of it. */
void sampler_before_exec(void);
void sampler_exec_failed(void);

#endif
