/* Any bytes as a packed run: files that come out have names that stay in their folder, failures say why, and how the bytes are
 * cut into pieces does not matter. Records are also tried without zstd around them, where changes are not lost in it. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/err.h"
#include "store/unpack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int fact)
{
    if (!fact)
        abort();
}

static int take(void *context, const char *name, const void *data, size_t size, struct err *err)
{
    (void)data;
    (void)err;
    uint64_t *bytes = context;
    require(pack_is_name(name, strlen(name)));
    *bytes += size + 1;
    return 0;
}

static uint64_t unpack(const uint8_t *data, size_t size, size_t piece)
{
    struct unpack unpack;
    struct err err = {0};
    uint64_t bytes = 0;
    int result = unpack_open(&unpack, "fuzz", take, &bytes, &err);
    for (size_t at = 0; at < size && result == 0; at += piece)
        result = unpack_feed(&unpack, data + at, size - at < piece ? size - at : piece, &err);
    if (result == 0)
        result = unpack_end(&unpack, &err);
    require((result == 0) == !err_is_set(&err));
    unpack_clear(&unpack);
    return bytes + (result == 0);
}

static void unpack_records(const uint8_t *data, size_t size)
{
    size_t bound = ZSTD_compressBound(size);
    uint8_t *pack = malloc(PACK_HEADER_BYTES + bound);
    require(pack != NULL);
    memcpy(pack, PACK_MAGIC "\1\0\0", PACK_HEADER_BYTES);
    size_t packed = ZSTD_compress(pack + PACK_HEADER_BYTES, bound, data, size, -5);
    require(!ZSTD_isError(packed));
    uint64_t whole = unpack(pack, PACK_HEADER_BYTES + packed, SIZE_MAX / 2);
    require(unpack(pack, PACK_HEADER_BYTES + packed, 7) == whole);
    free(pack);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    require(unpack(data, size, SIZE_MAX / 2) == unpack(data, size, 5));
    unpack_records(data, size);
    return 0;
}
