/*
 * resident: how much memory of the process is resident (RSS), and when that need not be asked.
 *
 * The kernel's figure is read through a descriptor that stays open, at a high number, out of the program's way. It can
 * change only in the kernel. So within a time that is shorter than the quickest page fault or unmapping, which are
 * tried out once, a thread cannot have changed it.
 */
#ifndef SONDE_COLLECT_INSIDE_RESIDENT_H
#define SONDE_COLLECT_INSIDE_RESIDENT_H

#include <stdint.h>

/* Tries out how quick a change can be, in ticks of the line clock. */
void resident_init(void);
extern uint64_t resident_quickest_ticks;

/* 0 when the kernel does not tell. */
uint64_t resident_bytes(void);
/* In the child of a fork: the descriptor is about its parent. */
void resident_forget(void);

#endif
