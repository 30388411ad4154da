#include "base/strings.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"

#define BLOCK_BYTES_MIN 1024u
#define BLOCK_BYTES_MAX 65536u

struct strings_block {
    struct strings_block *next; /* the one before */
    size_t used_bytes, size_bytes;
    char texts[];
};

void strings_clear(struct strings *strings)
{
    while (strings->blocks) {
        struct strings_block *next = strings->blocks->next;
        free(strings->blocks);
        strings->blocks = next;
    }
    free(strings->texts);
    free(strings->sizes);
    free(strings->hashes);
    free(strings->slots);
    *strings = (struct strings){0};
}

static uint32_t slot_of(const struct strings *strings, uint32_t hash, const char *text, size_t size)
{
    uint32_t mask = strings->slot_count - 1;
    uint32_t slot = hash & mask;
    for (; strings->slots[slot]; slot = (slot + 1) & mask) {
        uint32_t id = strings->slots[slot] - 1;
        if (strings->hashes[id] == hash && strings->sizes[id] == size &&
            memcmp(strings->texts[id], text, size) == 0)
            break;
    }
    return slot;
}

static int grow_slots(struct strings *strings)
{
    uint32_t count = strings->slot_count ? strings->slot_count * 2 : 64;
    uint32_t *slots = calloc(count, sizeof *slots);
    if (!slots)
        return -1;
    free(strings->slots);
    strings->slots = slots;
    strings->slot_count = count;
    for (uint32_t id = 0; id < strings->count; id++)
        slots[slot_of(strings, strings->hashes[id], strings->texts[id], strings->sizes[id])] = id + 1;
    return 0;
}

static bool grow_row(uint32_t **row, uint32_t capacity)
{
    uint32_t *grown = realloc(*row, capacity * sizeof *grown);
    *row = grown ? grown : *row;
    return grown;
}

static int grow_texts(struct strings *strings)
{
    uint32_t capacity = strings->capacity ? strings->capacity * 2 : 64;
    char **texts = realloc(strings->texts, capacity * sizeof *texts);
    if (!texts)
        return -1;
    strings->texts = texts;
    if (!grow_row(&strings->sizes, capacity) || !grow_row(&strings->hashes, capacity))
        return -1;
    strings->capacity = capacity;
    return 0;
}

/* Each twice as large as the one before, so that small tables stay small. */
static struct strings_block *add_block(struct strings *strings, size_t size)
{
    size_t size_bytes = strings->blocks ? strings->blocks->size_bytes * 2 : BLOCK_BYTES_MIN;
    size_bytes = size_bytes < BLOCK_BYTES_MAX ? size_bytes : BLOCK_BYTES_MAX;
    size_bytes = size_bytes > size ? size_bytes : size;
    struct strings_block *block = malloc(sizeof *block + size_bytes);
    if (!block)
        return NULL;
    *block = (struct strings_block){.next = strings->blocks, .size_bytes = size_bytes};
    return strings->blocks = block;
}

static char *copy(struct strings *strings, const char *text, size_t size)
{
    struct strings_block *block = strings->blocks;
    if (!block || block->size_bytes - block->used_bytes < size + 1)
        block = add_block(strings, size + 1);
    if (!block)
        return NULL;
    char *copied = block->texts + block->used_bytes;
    block->used_bytes += size + 1;
    if (size)
        memcpy(copied, text, size);
    copied[size] = '\0';
    return copied;
}

static uint32_t add(struct strings *strings, uint32_t hash, const char *text, size_t size)
{
    if (strings->count == strings->capacity && grow_texts(strings) < 0)
        return UINT32_MAX;
    if (strings->count * 2 >= strings->slot_count && grow_slots(strings) < 0)
        return UINT32_MAX;
    char *copied = copy(strings, text, size);
    if (!copied)
        return UINT32_MAX;
    uint32_t slot = slot_of(strings, hash, text, size);
    strings->texts[strings->count] = copied;
    strings->sizes[strings->count] = (uint32_t)size;
    strings->hashes[strings->count] = hash;
    strings->slots[slot] = strings->count + 1;
    return strings->count++;
}

static uint32_t find_or_add(struct strings *strings, const char *text, size_t size)
{
    uint32_t hash = (uint32_t)map_hash_bytes(text, size);
    uint32_t found = strings->slots ? strings->slots[slot_of(strings, hash, text, size)] : 0;
    return found ? found - 1 : add(strings, hash, text, size);
}

uint32_t strings_intern(struct strings *strings, const char *text, size_t size)
{
    if (size >= UINT32_MAX || (strings->count == 0 && find_or_add(strings, "", 0) == UINT32_MAX))
        return UINT32_MAX;
    uint32_t id = strings->next;
    if (id >= strings->count || strings->sizes[id] != size || memcmp(strings->texts[id], text, size) != 0)
        id = find_or_add(strings, text, size);
    strings->next = id + 1;
    return id;
}

uint32_t strings_intern_text(struct strings *strings, const char *text)
{
    return strings_intern(strings, text, strlen(text));
}

const char *strings_text(const struct strings *strings, uint32_t id)
{
    return id < strings->count ? strings->texts[id] : "";
}

size_t strings_size(const struct strings *strings, uint32_t id)
{
    return id < strings->count ? strings->sizes[id] : 0;
}
