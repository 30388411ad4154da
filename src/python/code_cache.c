#include "python/code_cache.h"

void code_cache_put(struct code_cache *cache, uint64_t code, const struct code_shape *shape)
{
    uint64_t slots = shape->frame_bytes / 8, traceable = shape->first_traceable_bytes / 2;
    uint64_t instructions = shape->instructions_bytes / 2;
    if (slots >> CODE_CACHE_FRAME_BITS || traceable >> CODE_CACHE_TRACEABLE_BITS ||
        instructions >> CODE_CACHE_INSTRUCTION_BITS)
        return;
    uint64_t packed = slots | traceable << CODE_CACHE_FRAME_BITS |
                      instructions << (CODE_CACHE_FRAME_BITS + CODE_CACHE_TRACEABLE_BITS);
    unsigned slot = code_cache_slot(code);
    atomic_store_explicit(&cache->entries[slot].mixed, code ^ packed, memory_order_relaxed);
    atomic_store_explicit(&cache->entries[slot].shape, packed, memory_order_relaxed);
}
