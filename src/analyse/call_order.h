/*
 * call_order: the single calls of a thread as rectangles level by level: a call lies below its caller, in its own time.
 *
 * A picture has only so many columns: calls of a level that are thinner than one and begin in the same are one rectangle,
 * named after the longest of them, so that nothing vanishes and the answer is bounded by columns and depth.
 */
#ifndef SONDE_ANALYSE_CALL_ORDER_H
#define SONDE_ANALYSE_CALL_ORDER_H

#include <stdint.h>

#include "analyse/time_order.h"

struct err;
struct recording;

/* Times are the calls' own, also of those that begin before the window or end behind it. */
int call_order_build(const struct recording *recording, uint32_t thread, uint64_t begin_ns, uint64_t end_ns,
                     uint32_t columns, struct time_order *order, struct err *err);

#endif
