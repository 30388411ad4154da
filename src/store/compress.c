#include "store/compress.h"

#include <zstd.h>

/* Levels above 3 cost twice the time for a few per cent: varint tables are already small. */
#define LEVEL 3

size_t compress_zstd(const void *data, size_t size, void *out, size_t out_size)
{
    if (out_size > size)
        out_size = size;
    size_t stored = ZSTD_compress(out, out_size, data, size, LEVEL);
    return ZSTD_isError(stored) || stored >= size ? 0 : stored;
}

int compress_expand(const void *data, size_t size, void *out, size_t out_size)
{
    return ZSTD_decompress(out, out_size, data, size) == out_size ? 0 : -1;
}
