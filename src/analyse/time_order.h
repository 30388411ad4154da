/*
 * time_order: what a thread did, as it happened: rectangles of functions level by level, from left to right in time.
 *
 * A picture has only so many columns. Where it has fewer than there are changes, each column shows the stack that took
 * most of its time, so the answer is bounded by columns and depth, whatever the length of the recording.
 */
#ifndef SONDE_ANALYSE_TIME_ORDER_H
#define SONDE_ANALYSE_TIME_ORDER_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct recording;
struct selection;

#define TIME_ORDER_COLUMNS_MAX 16384u

struct time_order_row {
    uint64_t start_ns, end_ns;
    uint32_t code;
    uint32_t depth; /* 0 = outermost */
    uint32_t calls; /* of which it is the picture; 0 = of none, but of samples */
    uint32_t line;  /* of the function; 0 = it is the function itself */
};

/* Rows by depth, then start. Owned. */
struct time_order {
    struct time_order_row *rows;
    uint32_t count, capacity;
    uint32_t levels;
};

int time_order_build(const struct recording *recording, const struct selection *selection, uint32_t thread,
                     uint64_t begin_ns, uint64_t end_ns, uint32_t columns, struct time_order *order,
                     struct err *err);
void time_order_clear(struct time_order *order);

/* For who builds another one: false without memory; and the order that rows are to have. */
bool time_order_add(struct time_order *order, const struct time_order_row *row);
void time_order_sort(struct time_order *order);

#endif
