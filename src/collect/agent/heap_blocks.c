#include "collect/agent/heap_blocks.h"

#include "collect/agent/own_memory.h"

#define USED_MAX (1u << 16) /* leaves: 4 TiB of addresses */

struct heap_blocks_leaf *heap_blocks_leaves[HEAP_BLOCKS_LEAVES];
uint8_t heap_blocks_shift = 4;

static uint32_t used[USED_MAX]; /* numbers of the leaves that there are */
static uint32_t used_count;

static size_t leaf_bytes(void)
{
    return sizeof(struct heap_blocks_leaf) +
           ((size_t)1 << HEAP_BLOCKS_LEAF_BITS >> heap_blocks_shift) * sizeof(uint64_t);
}

void heap_blocks_set_shift(uint8_t shift)
{
    heap_blocks_shift = shift;
}

static bool add_leaf(uint64_t number)
{
    struct heap_blocks_leaf *leaf = used_count < USED_MAX ? own_memory_map(leaf_bytes()) : NULL,
                            *other = NULL;
    if (!leaf)
        return false;
    if (!__atomic_compare_exchange_n(&heap_blocks_leaves[number], &other, leaf, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE)) {
        own_memory_unmap(leaf, leaf_bytes());
        return true;
    }
    uint32_t place = __atomic_fetch_add(&used_count, 1, __ATOMIC_ACQ_REL);
    if (place < USED_MAX)
        used[place] = (uint32_t)number;
    return true;
}

struct heap_blocks_leaf *heap_blocks_make_leaf(uint64_t address)
{
    uint64_t number = address >> HEAP_BLOCKS_LEAF_BITS;
    return number < HEAP_BLOCKS_LEAVES && add_leaf(number) ? heap_blocks_leaf_of(address) : NULL;
}

static uint32_t count_used(void)
{
    uint32_t count = __atomic_load_n(&used_count, __ATOMIC_ACQUIRE);
    return count < USED_MAX ? count : USED_MAX;
}

void heap_blocks_reset(void)
{
    for (uint32_t i = 0, count = count_used(); i < count; i++) {
        own_memory_unmap(heap_blocks_leaves[used[i]], leaf_bytes());
        heap_blocks_leaves[used[i]] = NULL;
    }
    used_count = 0;
}

uint64_t heap_blocks_resident_bytes(void)
{
    uint64_t resident_bytes = 0;
    for (uint32_t i = 0, count = count_used(); i < count; i++)
        resident_bytes += own_memory_resident_bytes(heap_blocks_leaves[used[i]], leaf_bytes());
    return resident_bytes;
}
