/*
 * region_order: the regions of a thread as they were entered and left, as rectangles level by level: one inside another
 * lies below it.
 *
 * A picture has only so many columns: neighbours that are thinner than one and closer than one become one rectangle, which
 * is named after the longest of them. What has not ended goes on to the end of the window.
 */
#ifndef SONDE_ANALYSE_REGION_ORDER_H
#define SONDE_ANALYSE_REGION_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/time_order.h"

struct err;
struct recording;

/* Whether the thread ever entered one. */
bool region_order_has(const struct recording *recording, uint32_t thread);
/* `code` of the rows is the region. The order is cleared as every other (time_order_clear). */
int region_order_build(const struct recording *recording, uint32_t thread, uint64_t begin_ns, uint64_t end_ns,
                       uint32_t columns, struct time_order *order, struct err *err);

#endif
