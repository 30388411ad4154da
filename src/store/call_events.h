/*
 * call_events: puts single calls into the order that recording.h promises: by thread, then start, a caller before what it
 * called. A file has them as they ended, callees first. As calls lie inside one another, one pass finds the place of each;
 * what does not (a damaged file) is sorted.
 */
#ifndef SONDE_STORE_CALL_EVENTS_H
#define SONDE_STORE_CALL_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct recording;

/* Quick when they are in order. */
int call_events_order(struct recording *recording, struct err *err);
/* The thread's rows: *first up to *end. */
void call_events_of(const struct recording *recording, uint32_t thread, uint32_t *first, uint32_t *end);
/* How many of all are lines. */
uint32_t call_events_lines(const struct recording *recording);

#endif
