#include "store/pack.h"

#include <zstd.h>

#include "base/checksum.h"
#include "base/err.h"
#include "store/chunk.h"
#include "store/compress.h"

#define LEVEL       9  /* smaller by a third than at 3; higher ones take long and gain little */
#define WINDOW_LOG  25 /* 32 MiB: the rank before is within it, and unpacking needs no more memory than that */
#define PIECE_BYTES (1u << 20)

static int fail_memory(struct err *err)
{
    return err_set(err, "out of memory while packing");
}

static int send(struct pack *pack, const void *data, size_t size, ZSTD_EndDirective how, struct err *err)
{
    ZSTD_inBuffer in = {data, size, 0};
    size_t left;
    do {
        bytes_reset(&pack->out);
        if (!bytes_reserve(&pack->out, ZSTD_CStreamOutSize()))
            return fail_memory(err);
        ZSTD_outBuffer out = {pack->out.data, ZSTD_CStreamOutSize(), 0};
        left = ZSTD_compressStream2(pack->stream, &out, &in, how);
        if (ZSTD_isError(left))
            return err_set(err, "packing failed: %s", ZSTD_getErrorName(left));
        if (out.pos && pack->sink(pack->context, out.dst, out.pos, err) < 0)
            return -1;
    } while (how == ZSTD_e_end ? left > 0 : in.pos < in.size);
    return 0;
}

/* A record of two parts, of which the second may be empty. */
static int put_record(struct pack *pack, enum pack_tag tag, const void *head, size_t head_size,
                      const void *body, size_t body_size, struct err *err)
{
    struct bytes begin = {0};
    bytes_put_varint(&begin, tag);
    bytes_put_varint(&begin, head_size + body_size);
    int result = begin.failed ? fail_memory(err) : send(pack, begin.data, begin.size, ZSTD_e_continue, err);
    bytes_clear(&begin);
    if (result == 0)
        result = send(pack, head, head_size, ZSTD_e_continue, err);
    return result == 0 && body_size ? send(pack, body, body_size, ZSTD_e_continue, err) : result;
}

bool pack_is_name(const char *name, size_t size)
{
    if (size == 0 || size > PACK_NAME_MAX || name[0] == '.' || name[0] == '-')
        return false;
    for (size_t i = 0; i < size; i++)
        if (name[i] == '/' || name[i] == '\\' || (unsigned char)name[i] < ' ' || name[i] == '\x7f')
            return false;
    return true;
}

int pack_open(struct pack *pack, writer_sink *sink, void *context, struct err *err)
{
    *pack = (struct pack){.sink = sink, .context = context, .stream = ZSTD_createCCtx()};
    if (!pack->stream)
        return fail_memory(err);
    ZSTD_CCtx_setParameter(pack->stream, ZSTD_c_compressionLevel, LEVEL);
    ZSTD_CCtx_setParameter(pack->stream, ZSTD_c_windowLog, WINDOW_LOG);
    ZSTD_CCtx_setParameter(pack->stream, ZSTD_c_enableLongDistanceMatching, 1);
    ZSTD_CCtx_setParameter(pack->stream, ZSTD_c_checksumFlag, 1);
    struct bytes header = {0};
    bytes_put(&header, PACK_MAGIC, 8);
    bytes_put_u32(&header, PACK_VERSION);
    int result = header.failed ? fail_memory(err) : sink(context, header.data, header.size, err);
    bytes_clear(&header);
    return result;
}

/* Whether the payload is expanded in `expanded`, and zstd would make the same of it again. */
static bool expands(struct pack *pack, const struct chunk *chunk, const uint8_t *stored)
{
    bytes_reset(&pack->expanded);
    bytes_reset(&pack->again);
    if (chunk->compression != CHUNK_ZSTD ||
        checksum_crc32c(0, stored, chunk->stored_bytes) != chunk->checksum ||
        !bytes_reserve(&pack->expanded, (size_t)chunk->raw_bytes + 1) ||
        !bytes_reserve(&pack->again, (size_t)chunk->raw_bytes + 1) ||
        compress_expand(stored, chunk->stored_bytes, pack->expanded.data, chunk->raw_bytes) < 0)
        return false;
    size_t size = compress_zstd(pack->expanded.data, chunk->raw_bytes, pack->again.data, chunk->raw_bytes);
    return size == chunk->stored_bytes && memcmp(pack->again.data, stored, size) == 0;
}

static int add_chunk(struct pack *pack, const struct chunk *chunk, const uint8_t *data, struct err *err)
{
    const uint8_t *stored = data + CHUNK_HEADER_BYTES;
    if (expands(pack, chunk, stored))
        return put_record(pack, PACK_CHUNK, data, CHUNK_HEADER_BYTES, pack->expanded.data, chunk->raw_bytes,
                          err);
    return put_record(pack, PACK_BYTES, data, CHUNK_HEADER_BYTES + chunk->stored_bytes, NULL, 0, err);
}

/* What is no whole chunk, up to where the next may begin. */
static size_t plain_bytes(const uint8_t *data, size_t size)
{
    size_t most = size < PIECE_BYTES ? size : PIECE_BYTES;
    const uint8_t *sync = memmem(data + 1, most - 1, CHUNK_SYNC, CHUNK_SYNC_BYTES);
    return sync ? (size_t)(sync - data) : most;
}

static int add_bytes(struct pack *pack, const uint8_t *data, size_t size, struct err *err)
{
    int result = 0;
    for (size_t at = 0; at < size && result == 0;) {
        struct chunk chunk;
        bool whole = size - at >= CHUNK_HEADER_BYTES && chunk_get(data + at, &chunk) &&
                     chunk.stored_bytes <= size - at - CHUNK_HEADER_BYTES;
        size_t step =
            whole ? CHUNK_HEADER_BYTES + (size_t)chunk.stored_bytes : plain_bytes(data + at, size - at);
        result = whole ? add_chunk(pack, &chunk, data + at, err)
                       : put_record(pack, PACK_BYTES, data + at, step, NULL, 0, err);
        at += step;
    }
    return result;
}

int pack_add(struct pack *pack, const char *name, const void *data, size_t size, struct err *err)
{
    struct bytes head = {0};
    bytes_put_u64(&head, size);
    bytes_put_u32(&head, checksum_crc32c(0, data, size));
    bytes_put_text(&head, name);
    int result =
        head.failed ? fail_memory(err) : put_record(pack, PACK_FILE, head.data, head.size, NULL, 0, err);
    bytes_clear(&head);
    pack->files++;
    return result == 0 ? add_bytes(pack, data, size, err) : -1;
}

int pack_end(struct pack *pack, struct err *err)
{
    struct bytes count = {0};
    bytes_put_u64(&count, pack->files);
    int result =
        count.failed ? fail_memory(err) : put_record(pack, PACK_END, count.data, count.size, NULL, 0, err);
    bytes_clear(&count);
    return result == 0 ? send(pack, NULL, 0, ZSTD_e_end, err) : -1;
}

void pack_clear(struct pack *pack)
{
    ZSTD_freeCCtx(pack->stream);
    bytes_clear(&pack->expanded);
    bytes_clear(&pack->again);
    bytes_clear(&pack->out);
    *pack = (struct pack){0};
}
