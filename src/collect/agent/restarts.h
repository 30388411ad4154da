/*
 * restarts: calls that wait and that a signal ends with EINTR, whatever SA_RESTART says: sleeps, polls, selects. The
 * agent stands before them; one that the sampler's signal has ended is begun again for the rest of its time, so that
 * the program does not notice. One that a signal of the program's own has ended is not.
 *
 * The handler itself can begin most of them again (own_signal.h); from glibc 2.41 on it cannot see which call it was.
 * Calls without an end are left alone: they may wait for a signal of the program's own, which may just have come.
 */
#ifndef SONDE_COLLECT_AGENT_RESTARTS_H
#define SONDE_COLLECT_AGENT_RESTARTS_H

/* Before the first signal: in a handler nothing can be looked up. */
void restarts_init(void);
/* In the handler: whether the signal has ended a system call that the kernel will not begin again. */
void restarts_note(const void *context);

#endif
