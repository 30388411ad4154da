/*
 * drain: an arena's content → records of the file, again and again: each step writes what has changed since
 * the last. The arena may be written to meanwhile, and is not trusted: rows that make no sense are passed over
 * and counted.
 */
#ifndef SONDE_COLLECT_RECORDER_DRAIN_H
#define SONDE_COLLECT_RECORDER_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

struct arena;
struct drain;
struct writer;

/* NULL when memory ran out or the arena's header makes no sense for a mapping of so many bytes. The arena stays the
 * caller's and must outlive the drain. */
struct drain *drain_new(const struct arena *arena, uint64_t bytes, struct writer *writer, uint32_t process);
void drain_free(struct drain *drain);

/* Whether single calls are logged, in a ring that must be emptied often: drain_step_log does no more than that, and
 * returns whether the ring fills quickly. */
bool drain_has_log(const struct drain *drain);
bool drain_step_log(struct drain *drain, const struct clock_rate *rate);
/* Writes what is new. `rate` turns ticks into ns, unless the arena brings its own. */
void drain_step(struct drain *drain, const struct clock_rate *rate);
/* The last step: threads that were in the middle of a function are charged until `end_ticks`, and what was
 * lost is noted. */
void drain_finish(struct drain *drain, const struct clock_rate *rate, uint64_t end_ticks);

/* How many calls and line hits were written, and how much memory of the arena is in use. */
uint64_t drain_calls(const struct drain *drain);
uint64_t drain_hits(const struct drain *drain);
uint64_t drain_memory_bytes(const struct drain *drain);
/* The line targets that meant something, as in the arena. */
uint64_t drain_targets_found(const struct drain *drain);

#endif
