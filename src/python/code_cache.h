/*
 * code_cache: the shapes of code objects that were once read and found to be code objects.
 *
 * A walk needs to know how large a frame of that code is, and must not load from an address only because a
 * half-made frame names it: what is found here needs no load at all. An entry may outlive its code object; a
 * frame of another size at that address then does not tile, and the walk is rejected, not wrong.
 *
 * Shared by all threads and signal handlers without a lock: an entry is two words, the first holds the
 * address xored with the second, so that a mix of two writers' words matches no address.
 */
#ifndef SONDE_PYTHON_CODE_CACHE_H
#define SONDE_PYTHON_CODE_CACHE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { CODE_CACHE_ENTRIES = 1024 };

/* A zeroed one is valid and empty. The caller holds it. */
struct code_cache {
    struct {
        _Atomic uint64_t mixed;
        _Atomic uint64_t shape;
    } entries[CODE_CACHE_ENTRIES];
};

struct code_shape {
    uint32_t frame_bytes;           /* of one of its frames on the data stack */
    uint32_t instructions_bytes;    /* never 0 */
    uint32_t first_traceable_bytes; /* instructions before it only set up the frame */
};

/* How a shape is packed: 24 bits for 8-byte slots, 16 and 24 for 2-byte instructions. */
enum { CODE_CACHE_FRAME_BITS = 24, CODE_CACHE_TRACEABLE_BITS = 16, CODE_CACHE_INSTRUCTION_BITS = 24 };

static inline unsigned code_cache_slot(uint64_t code)
{
    return (unsigned)((code >> 4) * 0x9e3779b97f4a7c15u >> 54) % CODE_CACHE_ENTRIES;
}

/* Inline: a walk does little else. */
static inline bool code_cache_find(struct code_cache *cache, uint64_t code, struct code_shape *shape)
{
    unsigned slot = code_cache_slot(code);
    uint64_t packed = atomic_load_explicit(&cache->entries[slot].shape, memory_order_relaxed);
    uint64_t mixed = atomic_load_explicit(&cache->entries[slot].mixed, memory_order_relaxed);
    if ((mixed ^ packed) != code || !packed)
        return false;
    shape->frame_bytes = 8 * (uint32_t)(packed & ((1u << CODE_CACHE_FRAME_BITS) - 1));
    shape->first_traceable_bytes =
        2 * (uint32_t)(packed >> CODE_CACHE_FRAME_BITS & ((1u << CODE_CACHE_TRACEABLE_BITS) - 1));
    shape->instructions_bytes = 2 * (uint32_t)(packed >> (CODE_CACHE_FRAME_BITS + CODE_CACHE_TRACEABLE_BITS));
    return true;
}

void code_cache_put(struct code_cache *cache, uint64_t code, const struct code_shape *shape);

#endif
