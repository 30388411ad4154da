#include "python/dictionary.h"

#include "python/names.h"

/* What no dict of a sound program exceeds, or what is looked through for a name. */
enum { MOST_SIZE_LOG2 = 40, MOST_SEARCHED = 1 << 14, NAME_BYTES = 64, MOST_OBJECT_BYTES = 1 << 20 };

/* Flags of a type (Include/object.h). */
enum { INLINE_VALUES = 1 << 2, MANAGED_DICTIONARY = 1 << 4, HEAP_TYPE = 1 << 9 };

static bool read_byte(const struct memory *memory, uint64_t address, uint8_t *out)
{
    return memory_read(memory, address, out, 1);
}

static uint64_t index_bytes_of(uint64_t size)
{
    return size <= 0xff ? size : size <= 0xffff ? 2 * size : size <= 0xffffffff ? 4 * size : 8 * size;
}

/* Up to 3.10: every entry has its hash, and the width of an index follows from the size. */
static bool read_old_keys(struct dictionary *dictionary, uint64_t keys)
{
    uint64_t size;
    if (!memory_read_word(dictionary->memory, keys + dictionary->layout->keys_size, &size) ||
        size > (uint64_t)1 << MOST_SIZE_LOG2)
        return false;
    dictionary->entries = keys + dictionary->layout->keys_indices + index_bytes_of(size);
    dictionary->entry_bytes = 24;
    return true;
}

static bool read_keys(struct dictionary *dictionary, uint64_t keys)
{
    const struct layout *layout = dictionary->layout;
    uint8_t index_bytes_log2, kind;
    if (!memory_read_word(dictionary->memory, keys + layout->keys_count, &dictionary->count) ||
        dictionary->count > (uint64_t)1 << MOST_SIZE_LOG2)
        return false;
    if (layout->keys_kind == LAYOUT_ABSENT)
        return read_old_keys(dictionary, keys);
    if (!read_byte(dictionary->memory, keys + layout->keys_index_bytes, &index_bytes_log2) ||
        !read_byte(dictionary->memory, keys + layout->keys_kind, &kind) || index_bytes_log2 > MOST_SIZE_LOG2)
        return false;
    dictionary->entries = keys + layout->keys_indices + ((uint64_t)1 << index_bytes_log2);
    dictionary->entry_bytes = kind ? 16 : 24;
    return true;
}

/* Values apart from their keys are there in the order of a list of small numbers: from 3.11 on before the first
 * value, from 3.13 on after the last. Before, they lie in order themselves. */
static bool read_values(struct dictionary *dictionary, uint64_t values)
{
    const struct layout *layout = dictionary->layout;
    uint8_t count, capacity;
    dictionary->values = values + layout->values_items;
    if (layout_minor(layout) <= 10)
        return true;
    bool behind = layout_minor(layout) >= 13;
    if (!read_byte(dictionary->memory, behind ? values + 1 : values - 2, &count) ||
        !read_byte(dictionary->memory, behind ? values : values - 1, &capacity))
        return false;
    dictionary->count = count;
    dictionary->order = behind ? dictionary->values + 8 * (uint64_t)capacity : values - 3;
    dictionary->order_step = behind ? 1 : -1;
    return true;
}

static bool init_both(struct dictionary *dictionary, uint64_t keys, uint64_t values)
{
    return read_keys(dictionary, keys) && (!values || read_values(dictionary, values));
}

bool dictionary_init(struct dictionary *dictionary, const struct layout *layout, const struct memory *memory,
                     uint64_t dict)
{
    uint64_t keys, values;
    *dictionary = (struct dictionary){.layout = layout, .memory = memory};
    return memory_read_word(memory, dict + layout->dict_keys, &keys) &&
           memory_read_word(memory, dict + layout->dict_values, &values) &&
           init_both(dictionary, keys, values);
}

/* What a class that was made by a class statement has its instances' attributes by, from 3.11 on. */
static bool init_managed(struct dictionary *dictionary, uint64_t instance, uint64_t type, uint64_t flags)
{
    const struct layout *layout = dictionary->layout;
    const struct memory *memory = dictionary->memory;
    uint64_t dict, keys, values = 0, basic_size;
    uint8_t valid = 0;
    if (!memory_read_word(memory, instance - layout->managed_dictionary, &dict))
        return false;
    if (layout_minor(layout) == 11 &&
        !memory_read_word(memory, instance - layout->managed_dictionary - 8, &values))
        return false;
    if (layout_minor(layout) == 12 && dict & 1) {
        values = dict + 1;
        dict = 0;
    }
    if (layout_minor(layout) >= 13 && flags & INLINE_VALUES && !dict &&
        memory_read_word(memory, type + layout->type_basic_size, &basic_size) &&
        basic_size < MOST_OBJECT_BYTES && read_byte(memory, instance + basic_size + 3, &valid) && valid)
        values = instance + basic_size;
    if (dict && !values)
        return dictionary_init(dictionary, layout, memory, dict);
    return values && memory_read_word(memory, type + layout->type_cached_keys, &keys) &&
           init_both(dictionary, keys, values);
}

/* Where an instance has a pointer to its dictionary, as its type says; 0 = nowhere. A negative offset counts
 * from the end of an object of variable size. */
static uint64_t attributes_place(const struct layout *layout, const struct memory *memory, uint64_t instance,
                                 uint64_t type)
{
    uint64_t offset, sizes[2], count;
    if (!memory_read_word(memory, type + layout->type_dictionary_offset, &offset) || !offset)
        return 0;
    if ((int64_t)offset > 0)
        return offset < MOST_OBJECT_BYTES ? instance + offset : 0;
    if (!memory_read(memory, type + layout->type_basic_size, sizes, sizeof sizes) ||
        !memory_read_word(memory, instance + layout->object_size, &count))
        return 0;
    if ((int64_t)count < 0)
        count = -count; /* the sign of an int */
    if (sizes[0] > MOST_OBJECT_BYTES || sizes[1] > MOST_OBJECT_BYTES || count > MOST_OBJECT_BYTES)
        return 0;
    return instance + ((sizes[0] + count * sizes[1] + 7) & ~(uint64_t)7) + offset;
}

bool dictionary_init_attributes(struct dictionary *dictionary, const struct layout *layout,
                                const struct memory *memory, uint64_t instance, uint64_t type)
{
    uint64_t flags, dict;
    *dictionary = (struct dictionary){.layout = layout, .memory = memory};
    if (!memory_read_word(memory, type + layout->type_flags, &flags))
        return false;
    if (layout_minor(layout) >= 11 && flags & MANAGED_DICTIONARY && flags & HEAP_TYPE)
        return init_managed(dictionary, instance, type, flags);
    uint64_t place = attributes_place(layout, memory, instance, type);
    return place && memory_read_word(memory, place, &dict) && dict &&
           dictionary_init(dictionary, layout, memory, dict);
}

static bool read_item(const struct dictionary *dictionary, uint64_t place, uint64_t *key, uint64_t *value)
{
    uint64_t words[3];
    uint8_t index = 0;
    if (dictionary->order &&
        !read_byte(dictionary->memory, dictionary->order + (int64_t)place * dictionary->order_step, &index))
        return false;
    uint64_t at = dictionary->order ? index : place;
    if (!memory_read(dictionary->memory, dictionary->entries + at * dictionary->entry_bytes, words,
                     dictionary->entry_bytes))
        return false;
    unsigned first = dictionary->entry_bytes / 8 - 2;
    *key = words[first];
    *value = words[first + 1];
    return !dictionary->values || memory_read_word(dictionary->memory, dictionary->values + 8 * at, value);
}

bool dictionary_next(struct dictionary *dictionary, uint64_t *key, uint64_t *value)
{
    while (dictionary->at < dictionary->count) {
        if (!read_item(dictionary, dictionary->at++, key, value))
            break;
        if (*key && *value)
            return true;
    }
    dictionary->at = dictionary->count;
    return false;
}

uint64_t dictionary_find(struct dictionary dictionary, const char *name)
{
    uint64_t key, value;
    char text[NAME_BYTES];
    size_t size = strlen(name);
    if (dictionary.count > MOST_SEARCHED)
        dictionary.count = MOST_SEARCHED;
    while (dictionary_next(&dictionary, &key, &value)) {
        ssize_t length = names_text(dictionary.layout, dictionary.memory, key, text, sizeof text);
        if (length == (ssize_t)size && !memcmp(text, name, size))
            return value;
    }
    return 0;
}
