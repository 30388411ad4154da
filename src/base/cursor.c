#include "base/cursor.h"

#include <string.h>

const uint8_t *cursor_get(struct cursor *cursor, size_t size)
{
    if (cursor->failed || size > cursor_left(cursor)) {
        cursor->failed = true;
        return NULL;
    }
    const uint8_t *at = cursor->at;
    cursor->at += size;
    return at;
}

static uint64_t get_little_endian(struct cursor *cursor, unsigned width)
{
    const uint8_t *at = cursor_get(cursor, width);
    uint64_t value = 0;
    for (unsigned i = 0; at && i < width; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

uint8_t cursor_get_u8(struct cursor *cursor)
{
    return (uint8_t)get_little_endian(cursor, 1);
}

uint16_t cursor_get_u16(struct cursor *cursor)
{
    return (uint16_t)get_little_endian(cursor, 2);
}

uint32_t cursor_get_u32(struct cursor *cursor)
{
    return (uint32_t)get_little_endian(cursor, 4);
}

uint64_t cursor_get_u64(struct cursor *cursor)
{
    return get_little_endian(cursor, 8);
}

uint64_t cursor_get_long_varint(struct cursor *cursor)
{
    uint64_t value = 0;
    const uint8_t *at = cursor->at;
    for (unsigned shift = 0; shift < 64 && at != cursor->end && !cursor->failed; shift += 7) {
        uint8_t byte = *at++;
        if (shift == 63 && byte > 1)
            break;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            cursor->at = at;
            return value;
        }
    }
    cursor->at = at;
    cursor->failed = true;
    return 0;
}

int64_t cursor_get_signed(struct cursor *cursor)
{
    uint64_t value = cursor_get_varint(cursor);
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

uint64_t cursor_get_varint_max(struct cursor *cursor, uint64_t max)
{
    uint64_t value = cursor_get_varint(cursor);
    if (value <= max)
        return value;
    cursor->failed = true;
    return 0;
}

struct cursor cursor_get_counted(struct cursor *cursor)
{
    uint64_t size = cursor_get_varint(cursor);
    if (size > cursor_left(cursor))
        cursor->failed = true;
    const uint8_t *at = cursor->failed ? NULL : cursor_get(cursor, (size_t)size);
    return at ? cursor_on(at, (size_t)size) : (struct cursor){.failed = true};
}
