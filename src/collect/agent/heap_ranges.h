/*
 * heap_ranges: memory that the program has mapped, by address, with the record that it belongs to. Parts of a range may be
 * unmapped. One table for each process, behind a lock of its own that is held for a few hundred instructions; it allocates
 * nothing but its own table. A thread that a signal interrupts in here must not come in again.
 */
#ifndef SONDE_COLLECT_AGENT_HEAP_RANGES_H
#define SONDE_COLLECT_AGENT_HEAP_RANGES_H

#include <stdbool.h>
#include <stdint.h>

struct heap_range {
    uint64_t low, high;
    uint64_t mapped_bytes; /* of the whole, when it was mapped */
    uint32_t record;
    uint32_t is_first; /* the part that stands for the whole in counts */
};

/* Told of each part that is taken out. */
typedef void heap_ranges_gone(void *context, const struct heap_range *part);

/* The range overlaps none that is there. False when there is no room. */
bool heap_ranges_add(uint64_t low, uint64_t high, uint32_t record);
bool heap_ranges_holds(uint64_t address);
/* Takes out what of the table lies in [low, high). */
void heap_ranges_remove(uint64_t low, uint64_t high, heap_ranges_gone *gone, void *context);
/* Forgets all, and whoever held the lock: in the child of a fork. */
void heap_ranges_reset(void);

#endif
