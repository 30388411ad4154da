#include "base/bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"

void bytes_clear(struct bytes *bytes)
{
    free(bytes->data);
    size_t max = bytes->max;
    *bytes = (struct bytes){.max = max};
}

void bytes_reset(struct bytes *bytes)
{
    bytes->size = 0;
    bytes->failed = false;
}

uint8_t *bytes_take(struct bytes *bytes, size_t *size)
{
    uint8_t *data = bytes->data;
    if (size)
        *size = bytes->size;
    bytes->data = NULL;
    bytes_clear(bytes);
    return data;
}

bool bytes_reserve(struct bytes *bytes, size_t extra)
{
    size_t max = bytes->max ? bytes->max : BYTES_MAX_DEFAULT;
    if (bytes->failed || bytes->size > max || extra > max - bytes->size)
        return !(bytes->failed = true);
    size_t need = bytes->size + extra;
    if (need <= bytes->capacity)
        return true;
    size_t capacity = bytes->capacity + bytes->capacity / 2;
    if (capacity < need)
        capacity = need < 256 ? 256 : need;
    uint8_t *grown = realloc(bytes->data, capacity);
    if (!grown)
        return !(bytes->failed = true);
    bytes->data = grown;
    bytes->capacity = capacity;
    return true;
}

void bytes_put(struct bytes *bytes, const void *data, size_t size)
{
    if (!size || !bytes_reserve(bytes, size))
        return;
    memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
}

void bytes_put_text(struct bytes *bytes, const char *text)
{
    bytes_put(bytes, text, strlen(text));
}

void bytes_putf(struct bytes *bytes, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int size = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (size >= 0 && bytes_reserve(bytes, (size_t)size + 1)) {
        vsnprintf((char *)bytes->data + bytes->size, (size_t)size + 1, format, again);
        bytes->size += (size_t)size;
    }
    va_end(again);
}

static void put_little_endian(struct bytes *bytes, uint64_t value, int width)
{
    uint8_t text[8];
    for (int i = 0; i < width; i++)
        text[i] = (uint8_t)(value >> (8 * i));
    bytes_put(bytes, text, (size_t)width);
}

void bytes_put_u8(struct bytes *bytes, uint8_t value)
{
    bytes_put(bytes, &value, 1);
}

void bytes_put_u16(struct bytes *bytes, uint16_t value)
{
    put_little_endian(bytes, value, 2);
}

void bytes_put_u32(struct bytes *bytes, uint32_t value)
{
    put_little_endian(bytes, value, 4);
}

void bytes_put_u64(struct bytes *bytes, uint64_t value)
{
    put_little_endian(bytes, value, 8);
}

void bytes_put_varint(struct bytes *bytes, uint64_t value)
{
    uint8_t text[BYTES_VARINT_MAX];
    bytes_put(bytes, text, (size_t)(bytes_encode_varint(text, value) - text));
}

void bytes_put_signed(struct bytes *bytes, int64_t value)
{
    bytes_put_varint(bytes, bytes_zigzag(value));
}

void bytes_put_counted(struct bytes *bytes, const void *data, size_t size)
{
    bytes_put_varint(bytes, size);
    bytes_put(bytes, data, size);
}

static int read_all(struct bytes *bytes, int fd, const char *path, size_t max, struct err *err)
{
    for (;;) {
        if (bytes->size >= max)
            return err_set(err, "%s: larger than the limit of %zu bytes", path, max);
        if (!bytes_reserve(bytes, 1 << 16))
            return err_set(err, "%s: out of memory after %zu bytes", path, bytes->size);
        ssize_t got = read(fd, bytes->data + bytes->size, bytes->capacity - bytes->size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EISDIR)
            return err_set(err, "%s is a folder, not a recording", path);
        if (got < 0)
            return err_set_errno(err, "cannot read %s", path);
        if (got == 0)
            return 0;
        bytes->size += (size_t)got;
    }
}

/* One allocation for a plain file. By lseek, because fstat is a function of the newest glibcs only. */
static void reserve_whole(struct bytes *bytes, int fd, size_t max)
{
    off_t here = lseek(fd, 0, SEEK_CUR);
    off_t end = lseek(fd, 0, SEEK_END);
    if (here < 0 || end < 0 || lseek(fd, here, SEEK_SET) < 0)
        return;
    if (end > here && (uint64_t)(end - here) <= max)
        bytes_reserve(bytes, (size_t)(end - here) + 1);
}

int bytes_read_file(struct bytes *bytes, const char *path, size_t max, struct err *err)
{
    bool standard_input = strcmp(path, "-") == 0;
    int fd = standard_input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_set_errno(err, "cannot open %s", path);
    reserve_whole(bytes, fd, max);
    int result = read_all(bytes, fd, path, max, err);
    if (!standard_input)
        close(fd);
    return result;
}

bool bytes_write(int fd, const void *data, size_t size)
{
    const char *at = data;
    while (size > 0) {
        ssize_t written = write(fd, at, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        at += written;
        size -= (size_t)written;
    }
    return true;
}

size_t bytes_read(int fd, void *data, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t got = read(fd, (uint8_t *)data + done, size - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        done += (size_t)got;
    }
    return done;
}
