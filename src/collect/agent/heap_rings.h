/*
 * heap_rings: the rings through which a heap area's events go to the recorder one by one. A ring has one writer, its thread,
 * and one reader. A full one is waited for a little; then events are lost and counted, until the reader has come again.
 */
#ifndef SONDE_COLLECT_AGENT_HEAP_RINGS_H
#define SONDE_COLLECT_AGENT_HEAP_RINGS_H

#include <stdint.h>

struct heap_area;
struct heap_thread_row;

/* The number of a ring that nobody has yet; 0 when there are no more. */
uint32_t heap_rings_new(struct heap_area *area);
/* `entry` as struct heap_event has it. */
void heap_rings_put(struct heap_area *area, struct heap_thread_row *row, uint64_t address, uint64_t entry);

#endif
