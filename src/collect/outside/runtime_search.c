#include "collect/outside/runtime_search.h"

#include <ctype.h>

enum { BLOCK_BYTES = 1 << 16, PAGE_BYTES = 4096, OVERLAP_BYTES = 64, MOST_INTERPRETERS = 1 << 20 };

/* Looks at the bytes at an address, of which at least OVERLAP_BYTES are there unless the data end; gives what
 * was found, 0 = go on. */
typedef uint64_t inspect(const struct runtime_search *search, const void *wanted, uint64_t address,
                         const unsigned char *bytes, size_t left);

static bool inspect_block(const struct runtime_search *search, inspect *look, const void *wanted,
                          uint64_t address, size_t size, size_t to_look_at, uint64_t *result)
{
    _Alignas(8) unsigned char block[BLOCK_BYTES + OVERLAP_BYTES];
    uint64_t found = 0;
    if (!memory_read(&search->image->memory, address, block, size))
        return false;
    for (size_t at = 0; at < to_look_at && at + 8 <= size && !found; at += 8)
        found = look(search, wanted, address + at, block + at, size - at);
    *result = found;
    return true;
}

/* In steps, up to where nothing is to be read: gives how far that was, or where something was found. */
static uint64_t inspect_range(const struct runtime_search *search, inspect *look, const void *wanted,
                              uint64_t start, uint64_t end, size_t step_bytes, uint64_t *found)
{
    uint64_t at = start;
    for (; at < end && !*found; at += step_bytes) {
        uint64_t left = end - at;
        size_t size = left < step_bytes + OVERLAP_BYTES ? left : step_bytes + OVERLAP_BYTES;
        if (!inspect_block(search, look, wanted, at, size, left < step_bytes ? left : step_bytes, found))
            break;
    }
    return at;
}

/* The zeroed data of a library and what the program maps right behind them are one mapping to the kernel, which shrinks
 * when that is unmapped again, maybe just now: what is left of a block is read by pages. No further: a damaged core file
 * may name more memory than there is time for. */
static uint64_t inspect_mapping(const struct runtime_search *search, inspect *look, const void *wanted,
                                const struct target_mapping *mapping)
{
    uint64_t found = 0;
    uint64_t at = inspect_range(search, look, wanted, mapping->start, mapping->end, BLOCK_BYTES, &found);
    if (at < mapping->end && !found) {
        uint64_t end = mapping->end - at < BLOCK_BYTES ? mapping->end : at + BLOCK_BYTES;
        at = inspect_range(search, look, wanted, at, end, PAGE_BYTES, &found);
        /* the last page that is there has nothing behind it to look into */
        if (at < end && !found)
            inspect_block(search, look, wanted, at, PAGE_BYTES, PAGE_BYTES, &found);
    }
    return found;
}

/* Every aligned word of the data that can be written, which all that we look for is. */
static uint64_t inspect_data(const struct runtime_search *search, inspect *look, const void *wanted)
{
    uint64_t found = 0;
    for (size_t i = 0; i < search->count && !found; i++) {
        const struct target_mapping *mapping = &search->image->mappings[search->first + i];
        if (mapping->writable && !mapping->executable)
            found = inspect_mapping(search, look, wanted, mapping);
    }
    return found;
}

/* ---- the version ---- */

/* The whole text is "3.12.1 (main, Dec 19 2023, 20:00:00) [GCC 12.2.0]". */
static uint64_t inspect_version(const struct runtime_search *search, const void *wanted, uint64_t address,
                                const unsigned char *bytes, size_t left)
{
    (void)search, (void)wanted, (void)address;
    if (left < 32 || (bytes[0] != '2' && bytes[0] != '3') || bytes[1] != '.' || !isdigit(bytes[2]))
        return 0;
    char text[32] = "";
    size_t end = 3;
    while (end < 20 && (isalnum(bytes[end]) || bytes[end] == '.' || bytes[end] == '+'))
        end++;
    if (bytes[end] != ' ' || bytes[end + 1] != '(')
        return 0;
    memcpy(text, bytes, end);
    return layouts_version(text);
}

uint32_t runtime_search_version(const struct runtime_search *search)
{
    return (uint32_t)inspect_data(search, inspect_version, NULL);
}

/* ---- the runtime ---- */

static uint64_t inspect_published(const struct runtime_search *search, const void *wanted, uint64_t address,
                                  const unsigned char *bytes, size_t left)
{
    (void)search, (void)wanted;
    /* the mark, then PY_VERSION_HEX as 64 bits */
    if (left < 16 || memcmp(bytes, "xdebugpy", 8) != 0)
        return 0;
    uint64_t version = memory_word(bytes + 8);
    return version >> 24 == 3 ? address : 0;
}

uint64_t runtime_search_published(const struct runtime_search *search)
{
    return inspect_data(search, inspect_published, NULL);
}

static bool looks_like_pointer(uint64_t word)
{
    return word >= 0x1000 && word >> 47 == 0 && word % 8 == 0;
}

/* An interpreter names its newest thread, which names the interpreter. */
static bool is_interpreter(const struct memory *memory, const struct layout *layout, uint64_t interpreter,
                           uint64_t *id)
{
    uint64_t thread, back;
    return looks_like_pointer(interpreter) &&
           memory_read_word(memory, interpreter + layout->interpreter_id, id) && *id < MOST_INTERPRETERS &&
           memory_read_word(memory, interpreter + layout->interpreter_threads, &thread) &&
           looks_like_pointer(thread) &&
           memory_read_word(memory, thread + layout->thread_interpreter, &back) && back == interpreter;
}

/* The newest interpreter, the main one (whose id is 0), the next id. */
static uint64_t inspect_interpreters(const struct runtime_search *search, const void *wanted,
                                     uint64_t address, const unsigned char *bytes, size_t left)
{
    const struct layout *layout = wanted;
    const struct memory *memory = &search->image->memory;
    uint64_t newest_id, main_id;
    if (left < 24)
        return 0;
    uint64_t newest = memory_word(bytes), main = memory_word(bytes + 8), next_id = memory_word(bytes + 16);
    bool found = next_id && next_id < MOST_INTERPRETERS && looks_like_pointer(main) &&
                 is_interpreter(memory, layout, newest, &newest_id) && newest_id < next_id &&
                 is_interpreter(memory, layout, main, &main_id) && main_id == 0;
    return found ? address - layout->runtime_interpreters : 0;
}

uint64_t runtime_search_interpreters(const struct runtime_search *search, const struct layout *layout)
{
    return inspect_data(search, inspect_interpreters, layout);
}

/* ---- types ---- */

struct wanted_type {
    const struct layout *layout;
    const char *name;
};

static uint64_t inspect_type(const struct runtime_search *search, const void *wanted, uint64_t address,
                             const unsigned char *bytes, size_t left)
{
    const struct wanted_type *type = wanted;
    const struct layout *layout = type->layout;
    const struct memory *memory = &search->image->memory;
    if (left < layout->type_name + 8)
        return 0;
    uint64_t type_type = memory_word(bytes + layout->object_type),
             name = memory_word(bytes + layout->type_name);
    uint64_t type_type_type;
    char text[16];
    size_t size = strlen(type->name) + 1;
    bool found = looks_like_pointer(type_type) && name >= 0x1000 && name >> 47 == 0 &&
                 memory_read(memory, name, text, size) && memcmp(text, type->name, size) == 0 &&
                 memory_read_word(memory, type_type + layout->object_type, &type_type_type) &&
                 type_type_type == type_type;
    return found ? address : 0;
}

uint64_t runtime_search_type(const struct runtime_search *search, const struct layout *layout,
                             const char *name)
{
    const struct wanted_type wanted = {layout, name};
    return inspect_data(search, inspect_type, &wanted);
}
