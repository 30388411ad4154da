#include "cli/gzipped.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <zlib.h>

#include "base/bytes.h"
#include "base/err.h"

#define PIECE_BYTES ((size_t)1 << 16)
#define GZIP_WINDOW (15 + 16) /* the largest, and gzip's header */

static const char *inflate_all(z_stream *stream, const struct bytes *from, struct bytes *to)
{
    int result = Z_OK;
    size_t given = 0;
    while (result != Z_STREAM_END) {
        if (!stream->avail_in && given < from->size) {
            size_t piece = from->size - given < PIECE_BYTES ? from->size - given : PIECE_BYTES;
            stream->next_in = from->data + given;
            stream->avail_in = (uInt)piece;
            given += piece;
        }
        if (!bytes_reserve(to, PIECE_BYTES))
            return "it is too large when expanded";
        stream->next_out = to->data + to->size;
        stream->avail_out = (uInt)PIECE_BYTES;
        result = inflate(stream, Z_NO_FLUSH);
        to->size += PIECE_BYTES - stream->avail_out;
        if (result == Z_BUF_ERROR && !stream->avail_in && given == from->size)
            return "it ends in the middle";
        if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
            return "it is damaged";
    }
    return NULL;
}

int gzipped_expand(struct bytes *bytes, const char *name, size_t max, struct err *err)
{
    if (bytes->size < 2 || bytes->data[0] != 0x1f || bytes->data[1] != 0x8b)
        return 0;
    z_stream stream = {0};
    struct bytes expanded = {.max = max};
    const char *problem = inflateInit2(&stream, GZIP_WINDOW) == Z_OK ? NULL : "there is not enough memory";
    if (!problem) {
        problem = inflate_all(&stream, bytes, &expanded);
        inflateEnd(&stream);
    }
    if (problem) {
        bytes_clear(&expanded);
        return err_set(err, "%s cannot be expanded: %s; copy it again", name, problem);
    }
    bytes_clear(bytes);
    *bytes = expanded;
    return 0;
}
