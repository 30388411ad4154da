#include "store/unpack.h"

#include <string.h>
#include <zstd.h>

#include "base/checksum.h"
#include "base/cursor.h"
#include "base/err.h"
#include "store/chunk.h"
#include "store/compress.h"

/* A small pack must not be able to fill the memory. Files of a run are much alike, so one may cost very little. */
#define FILE_BYTES_FREE ((uint64_t)256 << 20)
#define FILE_RATIO_MAX  16384

int unpack_open(struct unpack *unpack, const char *name, unpack_sink *sink, void *context, struct err *err)
{
    *unpack = (struct unpack){.name = name, .sink = sink, .context = context, .stream = ZSTD_createDCtx()};
    return unpack->stream ? 0 : err_set(err, "out of memory while unpacking %s", name);
}

void unpack_clear(struct unpack *unpack)
{
    ZSTD_freeDCtx(unpack->stream);
    bytes_clear(&unpack->header);
    bytes_clear(&unpack->held);
    bytes_clear(&unpack->file);
    bytes_clear(&unpack->again);
    *unpack = (struct unpack){0};
}

static int fail(const struct unpack *unpack, struct err *err)
{
    return err_set(err, "%s is damaged: what it holds is no packed run", unpack->name);
}

/* ---- files ---- */

static int close_file(struct unpack *unpack, struct err *err)
{
    struct bytes *file = &unpack->file;
    if (!unpack->file_name[0])
        return 0;
    if (!unpack->is_other &&
        (file->size != unpack->size_bytes || checksum_crc32c(0, file->data, file->size) != unpack->checksum))
        return err_set(err, "%s is damaged: %s is not as it was packed", unpack->name, unpack->file_name);
    if (unpack->sink(unpack->context, unpack->file_name, file->data, file->size, err) < 0)
        return -1;
    unpack->files++;
    unpack->other_files += unpack->is_other;
    bytes_reset(file);
    unpack->file_name[0] = '\0';
    return 0;
}

static int begin_file(struct unpack *unpack, struct cursor body, struct err *err)
{
    if (close_file(unpack, err) < 0)
        return -1;
    unpack->size_bytes = cursor_get_u64(&body);
    unpack->checksum = cursor_get_u32(&body);
    unpack->is_other = false;
    size_t size = cursor_left(&body);
    if (body.failed)
        return fail(unpack, err);
    if (!pack_is_name((const char *)body.at, size))
        return err_set(err, "%s holds a file with a name that is none; it was not made by sonde",
                       unpack->name);
    memcpy(unpack->file_name, body.at, size);
    unpack->file_name[size] = '\0';
    return 0;
}

/* ---- contents ---- */

/* The index of a file whose chunks have other sizes now would be wrong: it is left out, which it may be. */
static void put_end_chunk(struct unpack *unpack, struct chunk chunk)
{
    struct bytes payload = {0};
    bytes_put_varint(&payload, RECORD_END_OFFSET);
    bytes_put_varint(&payload, 8);
    bytes_put_u64(&payload, unpack->file.size);
    chunk.stored_bytes = chunk.raw_bytes = (uint32_t)payload.size;
    chunk.rows = 0;
    chunk.checksum = checksum_crc32c(0, payload.data, payload.size);
    chunk_put(&unpack->file, &chunk);
    bytes_put(&unpack->file, payload.data, payload.size);
    unpack->file.failed |= payload.failed;
    bytes_clear(&payload);
}

static void put_bytes(struct unpack *unpack, struct cursor body)
{
    struct chunk chunk;
    if (unpack->is_other && cursor_left(&body) >= CHUNK_HEADER_BYTES && chunk_get(body.at, &chunk) &&
        chunk.kind == RECORD_KIND_END)
        put_end_chunk(unpack, chunk);
    else
        bytes_put(&unpack->file, body.at, cursor_left(&body));
}

static int put_chunk(struct unpack *unpack, struct cursor body, struct err *err)
{
    struct chunk chunk;
    const uint8_t *header = cursor_get(&body, CHUNK_HEADER_BYTES);
    if (!header || !chunk_get(header, &chunk) || chunk.raw_bytes != cursor_left(&body))
        return fail(unpack, err);
    bytes_reset(&unpack->again);
    if (!bytes_reserve(&unpack->again, (size_t)chunk.raw_bytes + 1))
        return err_set(err, "out of memory while unpacking %s", unpack->name);
    size_t size = compress_zstd(body.at, chunk.raw_bytes, unpack->again.data, chunk.raw_bytes);
    const uint8_t *stored = size ? unpack->again.data : body.at;
    uint32_t stored_bytes = size ? (uint32_t)size : chunk.raw_bytes;
    uint32_t checksum = checksum_crc32c(0, stored, stored_bytes);
    unpack->is_other |= stored_bytes != chunk.stored_bytes || checksum != chunk.checksum;
    chunk.compression = size ? CHUNK_ZSTD : CHUNK_RAW;
    chunk.stored_bytes = stored_bytes;
    chunk.checksum = checksum;
    chunk_put(&unpack->file, &chunk);
    bytes_put(&unpack->file, stored, stored_bytes);
    return 0;
}

static int put_contents(struct unpack *unpack, uint64_t tag, struct cursor body, struct err *err)
{
    if (!unpack->file_name[0])
        return fail(unpack, err);
    int result = 0;
    if (tag == PACK_CHUNK)
        result = put_chunk(unpack, body, err);
    else
        put_bytes(unpack, body);
    if (unpack->file.failed)
        return err_set(err, "out of memory while unpacking %s", unpack->name);
    if (unpack->file.size > FILE_BYTES_FREE + unpack->read_bytes * FILE_RATIO_MAX ||
        (!unpack->is_other && unpack->file.size > unpack->size_bytes))
        return fail(unpack, err);
    return result;
}

static int end_pack(struct unpack *unpack, struct cursor body, struct err *err)
{
    if (close_file(unpack, err) < 0)
        return -1;
    if (cursor_get_u64(&body) != unpack->files || body.failed)
        return fail(unpack, err);
    unpack->ended = true;
    return 0;
}

/* Unknown tags are of a newer sonde, which has changed the version if files cannot be had without them. */
static int read_record(struct unpack *unpack, uint64_t tag, struct cursor body, struct err *err)
{
    switch (tag) {
    case PACK_FILE:
        return begin_file(unpack, body, err);
    case PACK_BYTES:
    case PACK_CHUNK:
        return put_contents(unpack, tag, body, err);
    case PACK_END:
        return end_pack(unpack, body, err);
    default:
        return 0;
    }
}

/* ---- bytes ---- */

/* Whole records of what is held; the rest waits for more. */
static int read_records(struct unpack *unpack, struct err *err)
{
    struct bytes *held = &unpack->held;
    struct cursor cursor = cursor_on(held->data, held->size);
    size_t used = 0;
    while (cursor_left(&cursor)) {
        uint64_t tag = cursor_get_varint(&cursor), size = cursor_get_varint(&cursor);
        bool has_head = !cursor.failed;
        if (!has_head && held->size - used >= 20)
            return fail(unpack, err);
        if (unpack->ended || (has_head && size > PACK_RECORD_MAX))
            return fail(unpack, err);
        if (!has_head || cursor_left(&cursor) < size)
            break;
        if (read_record(unpack, tag, cursor_on(cursor.at, (size_t)size), err) < 0)
            return -1;
        cursor_get(&cursor, (size_t)size);
        used = held->size - cursor_left(&cursor);
    }
    if (used) {
        memmove(held->data, held->data + used, held->size - used);
        held->size -= used;
    }
    return 0;
}

static int expand(struct unpack *unpack, ZSTD_inBuffer *in, struct err *err)
{
    struct bytes *held = &unpack->held;
    if (!bytes_reserve(held, ZSTD_DStreamOutSize()))
        return err_set(err, "out of memory while unpacking %s", unpack->name);
    ZSTD_outBuffer out = {held->data + held->size, ZSTD_DStreamOutSize(), 0};
    size_t result = ZSTD_decompressStream(unpack->stream, &out, in);
    if (ZSTD_isError(result))
        return err_set(err, "%s is damaged: %s", unpack->name, ZSTD_getErrorName(result));
    unpack->is_checked = result == 0;
    held->size += out.pos;
    return read_records(unpack, err) < 0 ? -1 : out.pos == out.size;
}

/* Takes what is missing of the header; -1 when it is no pack. */
static int read_header(struct unpack *unpack, struct cursor *cursor, struct err *err)
{
    struct bytes *header = &unpack->header;
    size_t missing = PACK_HEADER_BYTES - header->size;
    size_t size = cursor_left(cursor) < missing ? cursor_left(cursor) : missing;
    bytes_put(header, cursor_get(cursor, size), size);
    if (header->size < PACK_HEADER_BYTES)
        return 0;
    struct cursor version = cursor_on(header->data + 8, 4);
    if (!pack_recognises(header->data, header->size))
        return err_set(err, "%s is no packed run", unpack->name);
    if (cursor_get_u32(&version) != PACK_VERSION)
        return err_set(err, "%s was packed by a newer sonde: update this one", unpack->name);
    return 0;
}

int unpack_feed(struct unpack *unpack, const void *data, size_t size, struct err *err)
{
    struct cursor cursor = cursor_on(data, size);
    unpack->read_bytes += size;
    if (unpack->header.size < PACK_HEADER_BYTES && size && read_header(unpack, &cursor, err) < 0)
        return -1;
    ZSTD_inBuffer in = {cursor.at, cursor_left(&cursor), 0};
    int more = 1;
    while (more > 0 || (more == 0 && in.pos < in.size)) {
        if (in.size == 0)
            return 0;
        more = expand(unpack, &in, err);
    }
    return more;
}

int unpack_end(const struct unpack *unpack, struct err *err)
{
    if (unpack->read_bytes == 0)
        return err_set(err, "%s is empty", unpack->name);
    if (unpack->header.size < PACK_HEADER_BYTES)
        return err_set(err, "%s is no packed run", unpack->name);
    if (!unpack->ended || !unpack->is_checked)
        return err_set(err, "%s is cut off: %llu files in it are whole", unpack->name,
                       (unsigned long long)unpack->files);
    return 0;
}
