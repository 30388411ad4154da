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
/* For cursor_get_varint. */
uint64_t cursor_get_long_varint(struct cursor *cursor);
int64_t cursor_get_signed(struct cursor *cursor);
/* A varint that must be at most `max`; a larger one is a failure. */
uint64_t cursor_get_varint_max(struct cursor *cursor, uint64_t max);
/* Counted bytes (varint size, then the bytes) as a cursor of their own. */
struct cursor cursor_get_counted(struct cursor *cursor);

/* LEB128, at most 10 bytes. Recordings are made of these, mostly of one or two bytes, and reading takes its time here. */
static inline uint64_t cursor_get_varint(struct cursor *cursor)
{
    const uint8_t *at = cursor->at;
    if (cursor->failed || cursor_left(cursor) < 2 || (at[0] & at[1]) >= 0x80)
        return cursor_get_long_varint(cursor);
    bool is_long = at[0] >= 0x80;
    cursor->at = at + 1 + is_long;
    return is_long ? (uint64_t)(at[0] & 0x7f) | (uint64_t)at[1] << 7 : at[0];
}

#endif
