/*
 * heap_wrappers: the functions that stand before the allocators': malloc and its like, and mmap and its like. Each calls the
 * next one of its name, whoever's that is (the C library's, jemalloc's, tcmalloc's), and then tells heap_tracker.
 */
#ifndef SONDE_COLLECT_AGENT_HEAP_WRAPPERS_H
#define SONDE_COLLECT_AGENT_HEAP_WRAPPERS_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/agent/heap.h"

/* Finds the next functions. They are found at the first call otherwise. */
void heap_wrappers_init(void);
/* Whether the program calls them without more ado: the library is preloaded. */
bool heap_wrappers_are_first(void);
/* Addresses of blocks that these allocators give differ by at least 1 << this many bytes. */
uint8_t heap_wrappers_shift(void);

/* Ends with a name of NULL. */
extern const struct heap_wrapper heap_wrappers_list[];

#endif
