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
    free(map->slots);
    *map = (struct map){0};
}

static struct map_slot *slot_of(const struct map *map, uint64_t key)
{
    size_t slot = mix(key) & (map->capacity - 1);
    while (map->slots[slot].value != MAP_NONE && map->slots[slot].key != key)
        slot = (slot + 1) & (map->capacity - 1);
    return &map->slots[slot];
}

uint32_t map_get(const struct map *map, uint64_t key)
{
    return map->capacity ? slot_of(map, key)->value : MAP_NONE;
}

static bool grow(struct map *map, size_t capacity)
{
    struct map larger = {.capacity = capacity, .count = map->count};
    larger.slots = malloc(capacity * sizeof *larger.slots);
    if (!larger.slots)
        return false;
    for (size_t i = 0; i < capacity; i++)
        larger.slots[i] = (struct map_slot){.value = MAP_NONE};
    for (size_t i = 0; i < map->capacity; i++)
        if (map->slots[i].value != MAP_NONE)
            *slot_of(&larger, map->slots[i].key) = map->slots[i];
    map_clear(map);
    *map = larger;
    return true;
}

static bool is_full(size_t count, size_t capacity)
{
    return count * 3 >= capacity * 2;
}

bool map_reserve(struct map *map, size_t count)
{
    size_t capacity = map->capacity ? map->capacity : 64;
    while (is_full(count, capacity))
        capacity *= 2;
    return capacity == map->capacity || grow(map, capacity);
}

bool map_set(struct map *map, uint64_t key, uint32_t value)
{
    if (is_full(map->count, map->capacity) && !grow(map, map->capacity ? map->capacity * 2 : 64))
        return false;
    struct map_slot *slot = slot_of(map, key);
    map->count += slot->value == MAP_NONE;
    *slot = (struct map_slot){key, value};
    return true;
}
