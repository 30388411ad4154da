/*
 * table: an index from (64-bit key, 32-bit extra) to row numbers. Memory is mmapped, so that looking up in the
 * target never touches the target's heap. A zeroed struct is an empty table. Nothing is removed one by one.
 */
#ifndef SONDE_COLLECT_INSIDE_TABLE_H
#define SONDE_COLLECT_INSIDE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct table_slot {
    uint64_t key;
    uint32_t row; /* 0 = free */
    uint32_t extra;
};

struct table {
    struct table_slot *slots;
    size_t capacity; /* 0 or a power of two */
    size_t count;
};

static inline uint64_t table_hash(uint64_t key, uint64_t extra)
{
    uint64_t hash = (key >> 4) * 0x9e3779b97f4a7c15u + extra * 0xc2b2ae3d27d4eb4fu;
    return hash ^ hash >> 29;
}

/* The row under (key, extra), or 0. */
static inline uint32_t table_find(const struct table *table, uint64_t key, uint32_t extra)
{
    if (!table->capacity)
        return 0;
    size_t mask = table->capacity - 1;
    for (size_t at = table_hash(key, extra) & mask; table->slots[at].row; at = (at + 1) & mask)
        if (table->slots[at].key == key && table->slots[at].extra == extra)
            return table->slots[at].row;
    return 0;
}

/* False when memory ran out. */
bool table_add(struct table *table, uint64_t key, uint32_t extra, uint32_t row);
void table_clear(struct table *table);

#endif
