/*
 * map: 64-bit key → 32-bit value, open addressing. A zeroed struct is an empty map. Any key is allowed;
 * the value MAP_NONE is not. The map owns its slots.
 */
#ifndef SONDE_BASE_MAP_H
#define SONDE_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAP_NONE UINT32_MAX

struct map_slot {
    uint64_t key;
    uint32_t value; /* MAP_NONE = free */
};

struct map {
    struct map_slot *slots; /* key beside value: a look costs one miss of the cache, not two */
    size_t count;
    size_t capacity; /* 0 or a power of two */
};

void map_clear(struct map *map);
uint32_t map_get(const struct map *map, uint64_t key); /* MAP_NONE when absent */
/* Sets or replaces. False when memory ran out (the map is unchanged). */
bool map_set(struct map *map, uint64_t key, uint32_t value);
/* Makes room for so many keys in all, for those who know. False when memory ran out (the map is unchanged). */
bool map_reserve(struct map *map, size_t count);

/* The usual key of a pair of ids. */
static inline uint64_t map_pair(uint32_t high, uint32_t low)
{
    return (uint64_t)high << 32 | low;
}

uint64_t map_hash_bytes(const void *data, size_t size);

#endif
