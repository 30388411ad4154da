#include "export/deflated.h"

#include <zlib.h>

#include "base/bytes.h"

void deflated_put(struct bytes *out, const void *data, size_t size)
{
    uLongf room = compressBound((uLong)size);
    if (!bytes_reserve(out, room))
        return;
    if (compress2(out->data + out->size, &room, data, (uLong)size, Z_BEST_COMPRESSION) == Z_OK)
        out->size += room;
    else
        out->failed = true;
}

uint32_t deflated_checksum(uint32_t before, const void *data, size_t size)
{
    return size ? (uint32_t)crc32_z(before, data, size)
                : before; /* zlib begins again when there are no data */
}
