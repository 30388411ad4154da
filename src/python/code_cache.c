#include "python/code_cache.h"

/* How a shape is packed: 24 bits for 8-byte slots, 16 and 24 for 2-byte instructions. */
enum { SLOT_BITS = 24, TRACEABLE_BITS = 16, INSTRUCTION_BITS = 24 };

static unsigned slot_of(uint64_t code)
{
    return (unsigned)((code >> 4) * 0x9e3779b97f4a7c15u >> 54) % CODE_CACHE_ENTRIES;
}

bool code_cache_find(struct code_cache *cache, uint64_t code, struct code_shape *shape)
{
    unsigned slot = slot_of(code);
    uint64_t packed = atomic_load_explicit(&cache->entries[slot].shape, memory_order_relaxed);
    uint64_t mixed = atomic_load_explicit(&cache->entries[slot].mixed, memory_order_relaxed);
    if ((mixed ^ packed) != code || !packed)
        return false;
    shape->frame_bytes = 8 * (uint32_t)(packed & ((1u << SLOT_BITS) - 1));
    shape->first_traceable_bytes = 2 * (uint32_t)(packed >> SLOT_BITS & ((1u << TRACEABLE_BITS) - 1));
    shape->instructions_bytes = 2 * (uint32_t)(packed >> (SLOT_BITS + TRACEABLE_BITS));
    return true;
}

void code_cache_put(struct code_cache *cache, uint64_t code, const struct code_shape *shape)
{
    uint64_t slots = shape->frame_bytes / 8, traceable = shape->first_traceable_bytes / 2;
    uint64_t instructions = shape->instructions_bytes / 2;
    if (slots >> SLOT_BITS || traceable >> TRACEABLE_BITS || instructions >> INSTRUCTION_BITS)
        return;
    uint64_t packed = slots | traceable << SLOT_BITS | instructions << (SLOT_BITS + TRACEABLE_BITS);
    unsigned slot = slot_of(code);
    atomic_store_explicit(&cache->entries[slot].mixed, code ^ packed, memory_order_relaxed);
    atomic_store_explicit(&cache->entries[slot].shape, packed, memory_order_relaxed);
}
