/*
 * cursor: reads untrusted bytes from the front, never past the end.
 *
 * Failure is sticky: a get that does not fit sets `failed`, returns 0 or NULL, and so does every later get.
 * A parser can therefore read a whole record and check once. Pointers returned lie inside the bytes given;
 * nothing is owned.
 */
#ifndef SONDE_BASE_CURSOR_H
#define SONDE_BASE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cursor {
    const uint8_t *at;
    const uint8_t *end;
    bool failed;
};

static inline struct cursor cursor_on(const void *data, size_t size)
{
    const uint8_t *at = data;
    return (struct cursor){.at = at, .end = at + size};
}

static inline size_t cursor_left(const struct cursor *cursor)
{
    return (size_t)(cursor->end - cursor->at);
}

const uint8_t *cursor_get(struct cursor *cursor, size_t size);
uint8_t cursor_get_u8(struct cursor *cursor);
uint16_t cursor_get_u16(struct cursor *cursor);
uint32_t cursor_get_u32(struct cursor *cursor);
uint64_t cursor_get_u64(struct cursor *cursor);
/* One that is not of a single byte. */
uint64_t cursor_get_long_varint(struct cursor *cursor);
int64_t cursor_get_signed(struct cursor *cursor);
/* A varint that must be at most `max`; a larger one is a failure. */
uint64_t cursor_get_varint_max(struct cursor *cursor, uint64_t max);
/* Counted bytes (varint size, then the bytes) as a cursor of their own. */
struct cursor cursor_get_counted(struct cursor *cursor);

/* LEB128, at most 10 bytes. Recordings are made of these: nearly all the time that reading takes is here. */
static inline uint64_t cursor_get_varint(struct cursor *cursor)
{
    if (!cursor->failed && cursor->at < cursor->end && *cursor->at < 0x80)
        return *cursor->at++;
    return cursor_get_long_varint(cursor);
}

#endif
