/*
 * heap_drain: a heap area's content → records of the file, again and again: each step writes the stacks at which something
 * has changed since they were last written. The area may be written to meanwhile, and is not trusted: rows that make no sense
 * are passed over and counted.
 *
 * What is written grows with the number of stacks and with time; so that a long run stays small, a step writes stacks only
 * when enough time has passed, and the longer the more has been written.
 */
#ifndef SONDE_COLLECT_RECORDER_HEAP_DRAIN_H
#define SONDE_COLLECT_RECORDER_HEAP_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

struct heap_area;
struct heap_drain;
struct writer;

/* The code at a native address, which is less by one where it is one that a function returns to; a function, so that a
 * process that reads its own area need not know of files. */
struct heap_drain_code {
    uint32_t code;
    uint8_t kind; /* enum native_merge_kind */
};
typedef struct heap_drain_code heap_drain_find(void *context, uint64_t address);

/* Where an area has native stacks: how these are told. */
void heap_drain_set_native(struct heap_drain *drain, heap_drain_find *find, void *context);

/* NULL when memory ran out or the area's header makes no sense for a mapping of so many bytes. The area stays the
 * caller's and must outlive the drain. */
struct heap_drain *heap_drain_new(struct heap_area *area, uint64_t bytes, struct writer *writer,
                                  uint32_t process);
void heap_drain_free(struct heap_drain *drain);

/* Takes what is in the rings, looks at the size of the heap, and now and then writes the stacks. True when the rings were
 * rather full. */
bool heap_drain_step(struct heap_drain *drain, const struct clock_rate *rate);
/* The last step: everything is written, threads end, losses are noted. */
void heap_drain_finish(struct heap_drain *drain, const struct clock_rate *rate, uint64_t end_ticks);

/* Memory that the counting has taken in the process, the area included. */
uint64_t heap_drain_memory_bytes(const struct heap_drain *drain);

#endif
