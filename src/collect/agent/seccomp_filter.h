/*
 * seccomp_filter: what a filter of system calls, which the program is about to put on itself, would do to ours.
 *
 * A call that is refused with an error costs us a sample at most. One that a filter punishes with death would be
 * ours to answer for. Filters see arguments, too; ours are taken to be 0, which is what filters that care for the number
 * alone need.
 */
#ifndef SONDE_COLLECT_AGENT_SECCOMP_FILTER_H
#define SONDE_COLLECT_AGENT_SECCOMP_FILTER_H

#include <linux/filter.h>
#include <stdbool.h>

/* The kernel's answer for a system call: SECCOMP_RET_…; SECCOMP_RET_KILL_PROCESS for a filter that makes no sense. */
unsigned seccomp_filter_answer(const struct sock_fprog *filter, int call);

/* Whether it kills (or stops, or signals) whoever makes one of the calls that the agent makes in the program's
 * threads. */
bool seccomp_filter_is_deadly(const struct sock_fprog *filter);

#endif
