#include "store/chunk.h"

#include <string.h>

#include "base/bytes.h"
#include "base/checksum.h"
#include "base/cursor.h"
#include "store/record.h"

void chunk_put_file_header(struct bytes *out)
{
    size_t start = out->size;
    bytes_put(out, CHUNK_FILE_MAGIC, 8);
    bytes_put_u16(out, RECORD_MAJOR);
    bytes_put_u16(out, RECORD_MINOR);
    if (!out->failed)
        bytes_put_u32(out, checksum_crc32c(0, out->data + start, 12));
}

enum chunk_file chunk_check_file_header(const uint8_t *data, unsigned *major)
{
    struct cursor cursor = cursor_on(data + 8, 8);
    unsigned found = cursor_get_u16(&cursor);
    cursor_get_u16(&cursor); /* a newer minor version is read like this one */
    bool whole = cursor_get_u32(&cursor) == checksum_crc32c(0, data, 12);
    if (memcmp(data, CHUNK_FILE_MAGIC, 8) != 0)
        return CHUNK_FILE_FOREIGN;
    if (!whole)
        return CHUNK_FILE_DAMAGED;
    *major = found;
    return found == RECORD_MAJOR ? CHUNK_FILE_GOOD : CHUNK_FILE_NEWER;
}

void chunk_put(struct bytes *out, const struct chunk *chunk)
{
    size_t start = out->size;
    bytes_put(out, CHUNK_SYNC, CHUNK_SYNC_BYTES);
    bytes_put_u16(out, chunk->kind);
    bytes_put_u8(out, chunk->compression);
    bytes_put_u8(out, chunk->flags);
    bytes_put_u32(out, chunk->sequence);
    bytes_put_u32(out, chunk->process);
    bytes_put_u64(out, chunk->clock_ns);
    bytes_put_u64(out, chunk->real_ns);
    bytes_put_u64(out, chunk->first_ns);
    bytes_put_u32(out, chunk->stored_bytes);
    bytes_put_u32(out, chunk->raw_bytes);
    bytes_put_u32(out, chunk->rows);
    bytes_put_u32(out, chunk->checksum);
    bytes_put_u32(out, 0); /* reserved */
    if (!out->failed)
        bytes_put_u32(out, checksum_crc32c(0, out->data + start, CHUNK_HEADER_BYTES - 4));
}

bool chunk_get(const uint8_t *data, struct chunk *chunk)
{
    if (memcmp(data, CHUNK_SYNC, CHUNK_SYNC_BYTES) != 0)
        return false;
    struct cursor cursor = cursor_on(data + CHUNK_SYNC_BYTES, CHUNK_HEADER_BYTES - CHUNK_SYNC_BYTES);
    chunk->kind = cursor_get_u16(&cursor);
    chunk->compression = cursor_get_u8(&cursor);
    chunk->flags = cursor_get_u8(&cursor);
    chunk->sequence = cursor_get_u32(&cursor);
    chunk->process = cursor_get_u32(&cursor);
    chunk->clock_ns = cursor_get_u64(&cursor);
    chunk->real_ns = cursor_get_u64(&cursor);
    chunk->first_ns = cursor_get_u64(&cursor);
    chunk->stored_bytes = cursor_get_u32(&cursor);
    chunk->raw_bytes = cursor_get_u32(&cursor);
    chunk->rows = cursor_get_u32(&cursor);
    chunk->checksum = cursor_get_u32(&cursor);
    cursor_get_u32(&cursor); /* reserved */
    return cursor_get_u32(&cursor) == checksum_crc32c(0, data, CHUNK_HEADER_BYTES - 4) &&
           chunk->stored_bytes <= RECORD_CHUNK_MAX && chunk->raw_bytes <= RECORD_CHUNK_MAX;
}

bool chunk_begins_file(const uint8_t *data, size_t size)
{
    struct chunk chunk;
    return (size >= 8 && memcmp(data, CHUNK_FILE_MAGIC, 8) == 0) ||
           (size >= CHUNK_FILE_BYTES + CHUNK_HEADER_BYTES && chunk_get(data + CHUNK_FILE_BYTES, &chunk));
}
