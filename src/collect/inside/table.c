#include "collect/inside/table.h"

#include "collect/agent/own_memory.h"

static void insert(struct table *table, const struct table_slot *slot)
{
    size_t mask = table->capacity - 1;
    size_t at = table_hash(slot->key, slot->extra) & mask;
    while (table->slots[at].row)
        at = (at + 1) & mask;
    table->slots[at] = *slot;
    table->count++;
}

static bool grow(struct table *table)
{
    struct table larger = {.capacity = table->capacity ? table->capacity * 2 : 1024};
    larger.slots = own_memory_map(larger.capacity * sizeof(struct table_slot));
    if (!larger.slots)
        return false;
    for (size_t at = 0; at < table->capacity; at++)
        if (table->slots[at].row)
            insert(&larger, &table->slots[at]);
    table_clear(table);
    *table = larger;
    return true;
}

bool table_add(struct table *table, uint64_t key, uint32_t extra, uint32_t row)
{
    if (table->count * 2 >= table->capacity && !grow(table))
        return false;
    insert(table, &(struct table_slot){.key = key, .extra = extra, .row = row});
    return true;
}

void table_clear(struct table *table)
{
    if (table->slots)
        own_memory_unmap(table->slots, table->capacity * sizeof(struct table_slot));
    *table = (struct table){0};
}
