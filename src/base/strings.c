#include "base/strings.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"

void strings_clear(struct strings *strings)
{
    for (uint32_t i = 0; i < strings->count; i++)
        free(strings->texts[i]);
    free(strings->texts);
    free(strings->sizes);
    free(strings->slots);
    *strings = (struct strings){0};
}

static uint32_t slot_of(const struct strings *strings, const char *text, size_t size)
{
    uint32_t mask = strings->slot_count - 1;
    uint32_t slot = (uint32_t)map_hash_bytes(text, size) & mask;
    for (; strings->slots[slot]; slot = (slot + 1) & mask) {
        uint32_t id = strings->slots[slot] - 1;
        if (strings->sizes[id] == size && memcmp(strings->texts[id], text, size) == 0)
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
        strings->slots[slot_of(strings, strings->texts[id], strings->sizes[id])] = id + 1;
    return 0;
}

static int grow_texts(struct strings *strings)
{
    uint32_t capacity = strings->capacity ? strings->capacity * 2 : 64;
    char **texts = realloc(strings->texts, capacity * sizeof *texts);
    if (!texts)
        return -1;
    strings->texts = texts;
    uint32_t *sizes = realloc(strings->sizes, capacity * sizeof *sizes);
    if (!sizes)
        return -1;
    strings->sizes = sizes;
    strings->capacity = capacity;
    return 0;
}

static uint32_t add(struct strings *strings, const char *text, size_t size)
{
    if (strings->count == strings->capacity && grow_texts(strings) < 0)
        return UINT32_MAX;
    if (strings->count * 2 >= strings->slot_count && grow_slots(strings) < 0)
        return UINT32_MAX;
    char *copy = malloc(size + 1);
    if (!copy)
        return UINT32_MAX;
    if (size)
        memcpy(copy, text, size);
    copy[size] = '\0';
    uint32_t slot = slot_of(strings, text, size);
    strings->texts[strings->count] = copy;
    strings->sizes[strings->count] = (uint32_t)size;
    strings->slots[slot] = strings->count + 1;
    return strings->count++;
}

uint32_t strings_intern(struct strings *strings, const char *text, size_t size)
{
    if (size >= UINT32_MAX || (strings->count == 0 && add(strings, "", 0) == UINT32_MAX))
        return UINT32_MAX;
    uint32_t id = strings->next;
    if (id >= strings->count || strings->sizes[id] != size || memcmp(strings->texts[id], text, size) != 0) {
        uint32_t found = strings->slots[slot_of(strings, text, size)];
        id = found ? found - 1 : add(strings, text, size);
    }
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
