/*
 * seccomp_watch: notices when the program puts a filter of system calls on itself. The agent stands before prctl() and
 * syscall(), by which it is done.
 *
 * A filter that would kill for a call of ours ends what the agent does in the program's own threads: none is asked for
 * its stack any more, and what the program starts is not followed. Filters are a thread's and are inherited; for us one
 * thread's counts for all.
 */
#ifndef SONDE_COLLECT_AGENT_SECCOMP_WATCH_H
#define SONDE_COLLECT_AGENT_SECCOMP_WATCH_H

#include <stdbool.h>
#include <stdint.h>

/* Whether our calls have become deadly. */
bool seccomp_watch_is_deadly(void);

/* The kernel's count of the filters on the main thread, now and then; UINT32_MAX = it tells none. One that was put on
 * past the C library is taken to be deadly. */
void seccomp_watch_compare(uint32_t filters);

#endif
