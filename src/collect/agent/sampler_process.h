/*
 * sampler_process: a process that shares this one's memory, but neither its descriptors nor its signals, and that no
 * wait() of the program's knows of. One at a time; its memory is made once and used again, by forked children too.
 */
#ifndef SONDE_COLLECT_AGENT_SAMPLER_PROCESS_H
#define SONDE_COLLECT_AGENT_SAMPLER_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

/* Runs `run` in it. `as_sibling`: its parent is ours, so that nobody who lists the program's children meets it. NULL,
 * or why it could not be started. */
const char *sampler_process_start(int (*run)(void *), bool as_sibling);
/* Whether it is there. When it ends, however that comes, the kernel says so. */
bool sampler_process_is_there(void);
/* In the child of a fork, where it is not. */
void sampler_process_after_fork(void);

#endif
