/*
 * throttle: functions that are not recorded, because a filter leaves them out or because --throttle switched
 * them off: called more than 100,000 times at under 10 µs a call (TAU's rule).
 *
 * A function is switched off only while it is on no stack: a return could otherwise not be matched with its
 * call. Its calls so far stay recorded; later ones count as their caller's own time.
 */
#ifndef SONDE_COLLECT_INSIDE_THROTTLE_H
#define SONDE_COLLECT_INSIDE_THROTTLE_H

#include "collect/inside/trace.h"

#define THROTTLE_CALLS 100000u
#define THROTTLE_NS    10000u

/* Whether calls of this function are left out now. */
bool throttle_leaves_out(struct trace *trace, uint32_t code);

/* Counts one call of a recorded function and decides, now and then, whether it is to be switched off. */
void throttle_count(struct trace *trace, uint32_t node);

#endif
