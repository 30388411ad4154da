#include "base/map.h"

#include <stdlib.h>
#include <string.h>

static uint64_t mix(uint64_t key)
{
    key ^= key >> 32;
    key *= 0xd6e8feb86659fd93u;
    key ^= key >> 32;
    key *= 0xd6e8feb86659fd93u;
    return key ^ key >> 32;
}

uint64_t map_hash_bytes(const void *data, size_t size)
{
    const uint8_t *at = data;
    uint64_t hash = 0x9e3779b97f4a7c15u ^ size;
    for (; size >= 8; at += 8, size -= 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        hash = mix(hash ^ word);
    }
    uint64_t tail = 0;
    if (size)
        memcpy(&tail, at, size);
    return mix(hash ^ tail);
}

void map_clear(struct map *map)
{
    free(map->keys);
    free(map->values);
    *map = (struct map){0};
}

static size_t slot_of(const struct map *map, uint64_t key)
{
    size_t slot = mix(key) & (map->capacity - 1);
    while (map->values[slot] != MAP_NONE && map->keys[slot] != key)
        slot = (slot + 1) & (map->capacity - 1);
    return slot;
}

uint32_t map_get(const struct map *map, uint64_t key)
{
    return map->capacity ? map->values[slot_of(map, key)] : MAP_NONE;
}

static bool grow(struct map *map)
{
    size_t capacity = map->capacity ? map->capacity * 2 : 64;
    struct map larger = {.capacity = capacity, .count = map->count};
    larger.keys = malloc(capacity * sizeof *larger.keys);
    larger.values = malloc(capacity * sizeof *larger.values);
    if (!larger.keys || !larger.values) {
        map_clear(&larger);
        return false;
    }
    memset(larger.values, 0xff, capacity * sizeof *larger.values);
    for (size_t i = 0; i < map->capacity; i++) {
        if (map->values[i] == MAP_NONE)
            continue;
        size_t slot = slot_of(&larger, map->keys[i]);
        larger.keys[slot] = map->keys[i];
        larger.values[slot] = map->values[i];
    }
    map_clear(map);
    *map = larger;
    return true;
}

bool map_set(struct map *map, uint64_t key, uint32_t value)
{
    if (map->count * 3 >= map->capacity * 2 && !grow(map))
        return false;
    size_t slot = slot_of(map, key);
    if (map->values[slot] == MAP_NONE)
        map->count++;
    map->keys[slot] = key;
    map->values[slot] = value;
    return true;
}
