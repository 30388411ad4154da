/*
 * event_drain: an event area's rings → regions, marks, counters and metadata of the file, again and again. The area is written to
 * meanwhile, and is not trusted: slots that make no sense are passed over and counted.
 *
 * Ends are paired here, once: by their region and owner, in their own thread or, where it was left by another, in that which
 * began it. What has not ended when its thread or the process does ends then.
 */
#ifndef SONDE_COLLECT_RECORDER_EVENT_DRAIN_H
#define SONDE_COLLECT_RECORDER_EVENT_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

struct event_area;
struct event_drain;
struct mark_rows;
struct writer;

/* NULL when memory ran out or the area's header makes no sense for a mapping of so many bytes. The area stays the caller's
 * and must outlive the drain. */
struct event_drain *event_drain_new(struct event_area *area, uint64_t bytes, struct writer *writer,
                                    uint32_t process);
void event_drain_free(struct event_drain *drain);

/* Writes what is in the rings. True when one was rather full. */
bool event_drain_step(struct event_drain *drain, const struct clock_rate *rate);
/* The last step: what is open ends, losses are noted. */
void event_drain_finish(struct event_drain *drain, const struct clock_rate *rate, uint64_t end_ticks);
/* The rows of --marks that the process has told of. */
void event_drain_add_rows(struct event_drain *drain, struct mark_rows *rows);

#endif
