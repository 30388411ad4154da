#include "python/names.h"

/* What no name, path or table is longer than. */
enum { MOST_CHARACTERS = 1 << 20, MOST_BYTES = 64 << 20, BLOCK_BYTES = 256 };

static bool read_int(const struct memory *memory, uint64_t address, int32_t *out)
{
    return memory_read(memory, address, out, sizeof *out);
}

static bool read_optional(const struct memory *memory, uint64_t object, uint32_t field, uint64_t *out)
{
    *out = 0;
    return field == LAYOUT_ABSENT || memory_read_word(memory, object + field, out);
}

/* Up to 3.10 the instructions are a bytes object, then they follow the code object, which counts them. */
static bool read_instructions_size(const struct layout *layout, const struct memory *memory, uint64_t code,
                                   uint32_t *out)
{
    uint64_t object = code, count;
    bool apart = layout->chain == LAYOUT_FRAME_OBJECTS;
    if (apart && !memory_read_word(memory, code + layout->code_instructions, &object))
        return false;
    if (!memory_read_word(memory, object + layout->object_size, &count) || count > MOST_BYTES)
        return false;
    *out = (uint32_t)(apart ? count : 2 * count);
    return true;
}

bool names_read_code(const struct layout *layout, const struct memory *memory, uint64_t code_type,
                     uint64_t code, struct names_code *out)
{
    uint64_t type;
    return memory_read_word(memory, code + layout->object_type, &type) && type == code_type &&
           memory_read_word(memory, code + layout->code_name, &out->name) &&
           memory_read_word(memory, code + layout->code_filename, &out->filename) &&
           memory_read_word(memory, code + layout->code_lines, &out->lines) &&
           read_int(memory, code + layout->code_first_line, &out->first_line) &&
           read_optional(memory, code, layout->code_qualname, &out->qualname) &&
           read_instructions_size(layout, memory, code, &out->instructions_bytes);
}

/* One character as UTF-8. A surrogate, which UTF-8 has not, is the byte that a path held (U+DC80 to U+DCFF),
 * else it is spelt out; at most 6 bytes. */
static size_t encode(uint32_t character, char *out)
{
    static const char digits[] = "0123456789abcdef";
    if (character < 0x80) {
        out[0] = (char)character;
        return 1;
    }
    if (character < 0x800) {
        out[0] = (char)(0xc0 | character >> 6);
        out[1] = (char)(0x80 | (character & 0x3f));
        return 2;
    }
    if (character >= 0xdc80 && character <= 0xdcff) {
        out[0] = (char)character;
        return 1;
    }
    if (character >= 0xd800 && character < 0xe000) {
        out[0] = '\\';
        out[1] = 'u';
        for (int i = 0; i < 4; i++)
            out[2 + i] = digits[character >> (12 - 4 * i) & 0xf];
        return 6;
    }
    bool long_form = character >= 0x10000;
    out[0] = (char)(long_form ? 0xf0 | (character >> 18 & 7) : 0xe0 | character >> 12);
    for (int i = 1; i < 3 + long_form; i++)
        out[i] = (char)(0x80 | (character >> (6 * (2 + long_form - i)) & 0x3f));
    return 3 + long_form;
}

static uint32_t character_at(const unsigned char *bytes, unsigned width)
{
    uint32_t character = 0;
    memcpy(&character, bytes, width);
    return character;
}

static ssize_t convert(const struct memory *memory, uint64_t data, uint64_t length, unsigned width, char *out,
                       size_t capacity)
{
    unsigned char block[BLOCK_BYTES];
    size_t used = 0;
    for (uint64_t done = 0; done < length && used < capacity;) {
        uint64_t count = BLOCK_BYTES / width;
        if (count > length - done)
            count = length - done;
        if (!memory_read(memory, data + done * width, block, count * width))
            return -1;
        for (uint64_t i = 0; i < count; i++) {
            char encoded[8];
            size_t size = encode(character_at(block + i * width, width), encoded);
            if (size > capacity - used)
                return (ssize_t)used;
            memcpy(out + used, encoded, size);
            used += size;
        }
        done += count;
    }
    return (ssize_t)used;
}

ssize_t names_text(const struct layout *layout, const struct memory *memory, uint64_t text, char *out,
                   size_t capacity)
{
    uint64_t length;
    int32_t state;
    if (!text || !memory_read_word(memory, text + layout->text_length, &length) || length > MOST_CHARACTERS ||
        !read_int(memory, text + layout->text_state, &state))
        return -1;
    unsigned bits = (unsigned)state >> layout->text_kind_bit;
    unsigned width = bits & 7;
    bool compact = bits >> 3 & 1, ascii = bits >> 4 & 1;
    if (width != 1 && width != 2 && width != 4)
        return -1;
    uint64_t data = text + (compact && ascii ? layout->text_ascii_data : layout->text_compact_data);
    if (!compact && !memory_read_word(memory, data, &data))
        return -1;
    return convert(memory, data, length, width, out, capacity);
}

ssize_t names_bytes(const struct layout *layout, const struct memory *memory, uint64_t object, void *out,
                    size_t capacity)
{
    uint64_t size;
    if (!object || !memory_read_word(memory, object + layout->object_size, &size) || size > MOST_BYTES)
        return -1;
    if (size <= capacity && !memory_read(memory, object + layout->bytes_data, out, size))
        return -1;
    return (ssize_t)size;
}
