/*
 * heap_blocks: which record a block belongs to and how large it is, by its address: a table beside the heap, so that
 * blocks are what the allocator made them.
 *
 * Two levels: leaves of 64 MiB of addresses, made when first needed, and never given back. No locks: an entry belongs to
 * whoever owns the block. One table for each process.
 */
#ifndef SONDE_COLLECT_AGENT_HEAP_BLOCKS_H
#define SONDE_COLLECT_AGENT_HEAP_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

enum {
    HEAP_BLOCKS_RECORD_BITS = 26,
    HEAP_BLOCKS_LEAF_BITS = 26, /* of the address, that one leaf covers */
    HEAP_BLOCKS_LEAVES = 1 << (47 - HEAP_BLOCKS_LEAF_BITS),
};
#define HEAP_BLOCKS_SIZE_MAX (((uint64_t)1 << (64 - HEAP_BLOCKS_RECORD_BITS)) - 1)

/* An entry: record | size << HEAP_BLOCKS_RECORD_BITS; 0 = not known. */
static inline uint32_t heap_blocks_record(uint64_t entry)
{
    return (uint32_t)(entry & ((1u << HEAP_BLOCKS_RECORD_BITS) - 1));
}

static inline uint64_t heap_blocks_size(uint64_t entry)
{
    return entry >> HEAP_BLOCKS_RECORD_BITS;
}

static inline uint64_t heap_blocks_entry(uint32_t record, uint64_t size_bytes)
{
    uint64_t size = size_bytes < HEAP_BLOCKS_SIZE_MAX ? size_bytes : HEAP_BLOCKS_SIZE_MAX;
    return record | size << HEAP_BLOCKS_RECORD_BITS;
}

extern uint64_t *heap_blocks_leaves[HEAP_BLOCKS_LEAVES];
extern uint8_t heap_blocks_shift;

/* Addresses of blocks differ by at least 1 << shift bytes. To be called while the table is empty. */
void heap_blocks_set_shift(uint8_t shift);
/* Where the entry of an address is to be put; NULL when there is no memory, or no such address. */
uint64_t *heap_blocks_place(uint64_t address);
/* Forgets all blocks. Nobody else may be using the table. */
void heap_blocks_reset(void);
/* Memory that the table takes. */
uint64_t heap_blocks_resident_bytes(void);

/* The entry of an address, if it has a place; NULL when nothing near it was ever put there. */
static inline uint64_t *heap_blocks_find(uint64_t address)
{
    uint64_t number = address >> HEAP_BLOCKS_LEAF_BITS;
    if (number >= HEAP_BLOCKS_LEAVES)
        return 0;
    uint64_t *leaf = __atomic_load_n(&heap_blocks_leaves[number], __ATOMIC_ACQUIRE);
    return leaf ? &leaf[(address & (((uint64_t)1 << HEAP_BLOCKS_LEAF_BITS) - 1)) >> heap_blocks_shift] : 0;
}

/* Takes out what is known of a block. */
static inline uint64_t heap_blocks_take(uint64_t address)
{
    uint64_t *place = heap_blocks_find(address);
    uint64_t entry = place ? *place : 0;
    if (entry)
        *place = 0;
    return entry;
}

#endif
