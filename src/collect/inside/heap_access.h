/*
 * heap_access: the library that counts allocations (agent/heap.h), in a process where `sonde mem` has preloaded it and in
 * one that runs without: there it is loaded, and the program's calls are pointed at it while something is counted
 * (agent/relocations.h). All under the interpreter lock.
 */
#ifndef SONDE_COLLECT_INSIDE_HEAP_ACCESS_H
#define SONDE_COLLECT_INSIDE_HEAP_ACCESS_H

#include <stddef.h>

#include "collect/agent/heap.h"

/* NULL with words when it cannot be had. It stays loaded. */
const struct heap *heap_access_open(char *why, size_t why_bytes);
/* Counts into an area, which stays the caller's. -1 with words. */
int heap_access_begin(struct heap_area *area, const struct heap_settings *settings, char *why,
                      size_t why_bytes);
/* No thread writes into the area any more when this returns, and the program's calls go where they went before. */
void heap_access_end(void);

#endif
