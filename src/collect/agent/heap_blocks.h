/*
 * heap_blocks: which record a block belongs to and how large it is, by its address: a table beside the heap, so that
 * blocks are what the allocator made them.
 *
 * Two levels: leaves of 64 MiB of addresses, made when first needed, and never given back. A leaf has two parts. Of blocks of
 * 512 bytes or more no two begin within 512 bytes: they have a place for each 512, 1.6 % of what they take. Smaller ones have
 * a place wherever a block may begin. No locks: an entry belongs to whoever owns the block. One table for each process.
 */
#ifndef SONDE_COLLECT_AGENT_HEAP_BLOCKS_H
#define SONDE_COLLECT_AGENT_HEAP_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

enum {
    HEAP_BLOCKS_RECORD_BITS = 20,
    HEAP_BLOCKS_OFFSET_BITS = 5, /* which 16 bytes of its 512 a block begins in */
    HEAP_BLOCKS_SIZE_BITS = 64 - HEAP_BLOCKS_RECORD_BITS - HEAP_BLOCKS_OFFSET_BITS,
    HEAP_BLOCKS_LEAF_BITS = 26, /* of the address, that one leaf covers */
    HEAP_BLOCKS_LEAVES = 1 << (47 - HEAP_BLOCKS_LEAF_BITS),
    HEAP_BLOCKS_LARGE_BITS = 9, /* a block of so many bits is large */
    HEAP_BLOCKS_LARGE_PLACES = 1 << (HEAP_BLOCKS_LEAF_BITS - HEAP_BLOCKS_LARGE_BITS),
};
#define HEAP_BLOCKS_SIZE_MAX (((uint64_t)1 << HEAP_BLOCKS_SIZE_BITS) - 1)

/* An entry: the record, then where in its 512 bytes the block begins, which the table adds, then the size. 0 = not known. */
static inline uint32_t heap_blocks_record(uint64_t entry)
{
    return (uint32_t)(entry & ((1u << HEAP_BLOCKS_RECORD_BITS) - 1));
}

static inline uint64_t heap_blocks_size(uint64_t entry)
{
    return entry >> (64 - HEAP_BLOCKS_SIZE_BITS);
}

static inline uint64_t heap_blocks_entry(uint32_t record, uint64_t size_bytes)
{
    uint64_t size = size_bytes < HEAP_BLOCKS_SIZE_MAX ? size_bytes : HEAP_BLOCKS_SIZE_MAX;
    return record | size << (64 - HEAP_BLOCKS_SIZE_BITS);
}

struct heap_blocks_leaf {
    uint64_t large[HEAP_BLOCKS_LARGE_PLACES];
    uint64_t small[];
};

extern struct heap_blocks_leaf *heap_blocks_leaves[HEAP_BLOCKS_LEAVES];
extern uint8_t heap_blocks_shift;

/* Addresses of blocks differ by at least 1 << shift bytes. To be called while the table is empty. */
void heap_blocks_set_shift(uint8_t shift);
/* Makes the leaf of an address. NULL when there is no memory, or no such address. */
struct heap_blocks_leaf *heap_blocks_make_leaf(uint64_t address);
/* Forgets all blocks. Nobody else may be using the table. */
void heap_blocks_reset(void);
/* Memory that the table takes. */
uint64_t heap_blocks_resident_bytes(void);

/* NULL when nothing near the address was ever put there. */
static inline struct heap_blocks_leaf *heap_blocks_leaf_of(uint64_t address)
{
    uint64_t number = address >> HEAP_BLOCKS_LEAF_BITS;
    return number < HEAP_BLOCKS_LEAVES ? __atomic_load_n(&heap_blocks_leaves[number], __ATOMIC_ACQUIRE) : 0;
}

static inline uint64_t *heap_blocks_large_of(struct heap_blocks_leaf *leaf, uint64_t address)
{
    return &leaf->large[(address >> HEAP_BLOCKS_LARGE_BITS) % HEAP_BLOCKS_LARGE_PLACES];
}

static inline uint64_t *heap_blocks_small_of(struct heap_blocks_leaf *leaf, uint64_t address)
{
    return &leaf->small[(address & (((uint64_t)1 << HEAP_BLOCKS_LEAF_BITS) - 1)) >> heap_blocks_shift];
}

static inline uint64_t heap_blocks_offset(uint64_t address)
{
    return (address >> 4 & ((1u << HEAP_BLOCKS_OFFSET_BITS) - 1)) << HEAP_BLOCKS_RECORD_BITS;
}

/* Whether the large block of an entry begins at the address, and not beside it. */
static inline bool heap_blocks_is_at(uint64_t entry, uint64_t address)
{
    const uint64_t mask = (uint64_t)((1u << HEAP_BLOCKS_OFFSET_BITS) - 1) << HEAP_BLOCKS_RECORD_BITS;
    return entry && (entry & mask) == heap_blocks_offset(address);
}

/* Remembers a block. False when there is no memory, or no such address. */
static inline bool heap_blocks_put(uint64_t address, uint64_t entry)
{
    struct heap_blocks_leaf *leaf = heap_blocks_leaf_of(address);
    if (__builtin_expect(!leaf, 0) && !(leaf = heap_blocks_make_leaf(address)))
        return false;
    uint64_t *large = heap_blocks_large_of(leaf, address);
    if (__builtin_expect(heap_blocks_size(entry) >> HEAP_BLOCKS_LARGE_BITS, 1)) {
        __atomic_store_n(large, entry | heap_blocks_offset(address), __ATOMIC_RELAXED);
        return true;
    }
    /* Of a large one that lay there nobody may have seen the end. */
    if (heap_blocks_is_at(__atomic_load_n(large, __ATOMIC_RELAXED), address))
        __atomic_store_n(large, 0, __ATOMIC_RELAXED);
    *heap_blocks_small_of(leaf, address) = entry;
    return true;
}

/* Takes out what is known of a block. A large one that begins beside it may be another thread's. */
static inline uint64_t heap_blocks_take(uint64_t address)
{
    struct heap_blocks_leaf *leaf = heap_blocks_leaf_of(address);
    if (!leaf)
        return 0;
    uint64_t *place = heap_blocks_large_of(leaf, address), entry = __atomic_load_n(place, __ATOMIC_RELAXED);
    if (!heap_blocks_is_at(entry, address)) {
        place = heap_blocks_small_of(leaf, address);
        entry = *place;
    }
    if (entry)
        __atomic_store_n(place, 0, __ATOMIC_RELAXED);
    return entry;
}

#endif
