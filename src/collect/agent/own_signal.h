/*
 * own_signal: the one real-time signal by which running threads are asked for their stack, kept out of the program's
 * sight. The agent stands before the C library's functions that set handlers, masks and wait for signals:
 * to the program ours is a signal like the others, with its default action, blocked when it blocked it; in truth
 * it is never blocked nor waited for. A program that takes it for itself gets it, and we move to another.
 */
#ifndef SONDE_COLLECT_AGENT_OWN_SIGNAL_H
#define SONDE_COLLECT_AGENT_OWN_SIGNAL_H

#include <signal.h>
#include <stdbool.h>

/* Takes the highest real-time signal that is free; 0 when none is. `hold(true)` is called before the signal changes
 * hands, and must see to it that none is sent or on its way; `hold(false)` after that. */
int own_signal_take(void (*handler)(int, siginfo_t *, void *), void (*hold)(bool));
/* The signal now; 0 = the program has taken them all. */
int own_signal_number(void);

/* Around an exec, the calling thread's mask is what the program thinks it is. */
void own_signal_before_exec(void);
void own_signal_exec_failed(void);

/* In the handler: a call that was to sleep for a time and that only our signal has interrupted will be made again.
 * The C library's others are restarted by the kernel (SA_RESTART). */
void own_signal_restart_call(void *context);

#endif
