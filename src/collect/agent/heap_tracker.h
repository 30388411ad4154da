/*
 * heap_tracker: counts allocations into a heap area (heap_area.h): what the wrappers of the allocators call.
 *
 * One for each process. A wrapper subtracts a block's size from its thread's countdown, and calls in here when that has
 * become negative: where every block counts it always is, where bytes are sampled it seldom is. Nothing here allocates,
 * takes a lock of the program's or changes errno; a signal handler that interrupts it and allocates is passed over.
 */
#ifndef SONDE_COLLECT_AGENT_HEAP_TRACKER_H
#define SONDE_COLLECT_AGENT_HEAP_TRACKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/recording.h"

enum { HEAP_TRACKER_FILTER = 1 << 16 };

#define HEAP_TRACKER_TLS __thread __attribute__((tls_model("initial-exec")))
/* Bytes until the next block that counts. */
extern HEAP_TRACKER_TLS int64_t heap_tracker_countdown;
/* The thread is in an allocator that is counted itself: what that one allocates is not. */
extern HEAP_TRACKER_TLS uint32_t heap_tracker_nested;
/* Where blocks are sampled: how many of those that are remembered lie in a page of this hash. By pages, so that frees look
 * at few cache lines, and those that need not be looked at further are still nearly all. */
extern uint8_t heap_tracker_filter[HEAP_TRACKER_FILTER];
/* Every block is remembered. */
extern bool heap_tracker_counts_all;

static inline uint8_t *heap_tracker_filtered(const void *block)
{
    uint64_t page = (uint64_t)block >> 12;
    return &heap_tracker_filter[(page ^ page >> 16) % HEAP_TRACKER_FILTER];
}

/* Whether heap_tracker_freed need be called. */
static inline bool heap_tracker_remembers(const void *block)
{
    return heap_tracker_counts_all || __atomic_load_n(heap_tracker_filtered(block), __ATOMIC_RELAXED);
}

/* A block was had from an allocator and is the caller's; the countdown was below 0. */
void heap_tracker_allocated(const void *block, size_t bytes, enum heap_allocator allocator);
/* A block is about to be given back. */
void heap_tracker_freed(const void *block);

/* The same for a block that may move: what is known of it is taken out (0 = nothing), and then is put back when it has
 * stayed where it was after all, or is freed: its bytes are another block's now. */
uint64_t heap_tracker_take(const void *block);
void heap_tracker_put_back(const void *block, uint64_t entry);
void heap_tracker_free_moved(const void *block, uint64_t entry);

/* Whether memory at this address is known to have been mapped. */
bool heap_tracker_has_mapped(const void *memory);
/* Memory was mapped; is about to be unmapped. */
void heap_tracker_mapped(const void *memory, size_t bytes);
void heap_tracker_unmapped(const void *memory, size_t bytes);

/* The calling thread's growth, as heap.h has it. */
const int64_t *heap_tracker_growth(void);
/* Forgets all blocks. Nobody may be counting. */
void heap_tracker_forget(void);

#endif
