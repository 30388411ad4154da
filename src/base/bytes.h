/*
 * bytes: a growing byte buffer with an upper bound, and the little-endian and varint encodings put into it.
 *
 * A zeroed struct is a valid empty buffer (bound: BYTES_MAX_DEFAULT). Failure is sticky: after the first
 * allocation that fails or would pass the bound, `failed` is set and further puts do nothing; check it once
 * at the end. The buffer owns its memory until bytes_take gives it away.
 */
#ifndef SONDE_BASE_BYTES_H
#define SONDE_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if SIZE_MAX > UINT32_MAX
#define BYTES_MAX_DEFAULT ((size_t)1 << 34)
#else
#define BYTES_MAX_DEFAULT ((size_t)3 << 30)
#endif

struct bytes {
    uint8_t *data;
    size_t size;
    size_t capacity;
    size_t max; /* 0 = BYTES_MAX_DEFAULT */
    bool failed;
};

void bytes_clear(struct bytes *bytes);                  /* frees; the struct is empty and usable again */
void bytes_reset(struct bytes *bytes);                  /* size 0, memory kept, failure forgotten */
uint8_t *bytes_take(struct bytes *bytes, size_t *size); /* the caller frees; the buffer is empty afterwards */

bool bytes_reserve(struct bytes *bytes, size_t extra);
void bytes_put(struct bytes *bytes, const void *data, size_t size);
void bytes_put_text(struct bytes *bytes, const char *text);
void bytes_putf(struct bytes *bytes, const char *format, ...) __attribute__((format(printf, 2, 3)));
void bytes_put_u8(struct bytes *bytes, uint8_t value);
void bytes_put_u16(struct bytes *bytes, uint16_t value);
void bytes_put_u32(struct bytes *bytes, uint32_t value);
void bytes_put_u64(struct bytes *bytes, uint64_t value);
void bytes_put_varint(struct bytes *bytes, uint64_t value); /* LEB128, at most BYTES_VARINT_MAX bytes */
void bytes_put_signed(struct bytes *bytes, int64_t value);  /* zigzag, then LEB128 */
void bytes_put_counted(struct bytes *bytes, const void *data, size_t size); /* varint size, then the bytes */

#define BYTES_VARINT_MAX 10
/* As bytes_put_varint, to where there is room; gives the place behind it. For those who have reserved for many. */
static inline uint8_t *bytes_encode_varint(uint8_t *at, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *at++ = (uint8_t)(value | 0x80);
    *at++ = (uint8_t)value;
    return at;
}

static inline uint64_t bytes_zigzag(int64_t value)
{
    return ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
}

/* Reads a whole file ("-" = standard input). At most max bytes. */
struct err;
int bytes_read_file(struct bytes *bytes, const char *path, size_t max, struct err *err);
/* Writes all of it to the descriptor, in as many pieces as it takes. False with errno set. */
bool bytes_write(int fd, const void *data, size_t size);
/* Fills `data` from the descriptor, in as many pieces as it takes. Less than `size` only at its end or on failure. */
size_t bytes_read(int fd, void *data, size_t size);

#endif
