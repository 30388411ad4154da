/*
 * mark_order: the marks of a thread as small rectangles on the time axis: an instant is drawn as wide as can be pointed
 * at. Those that would lie on one another become one, which says how many it stands for.
 */
#ifndef SONDE_ANALYSE_MARK_ORDER_H
#define SONDE_ANALYSE_MARK_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/time_order.h"

struct err;
struct recording;

/* Whether the thread ever set one. */
bool mark_order_has(const struct recording *recording, uint32_t thread);
/* `code` of the rows is the first mark that it stands for, `calls` how many. Cleared as every other order. */
int mark_order_build(const struct recording *recording, uint32_t thread, uint64_t begin_ns, uint64_t end_ns,
                     uint32_t columns, struct time_order *order, struct err *err);

#endif
