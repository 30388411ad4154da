/*
 * pack: many files in one, for carrying a run of many ranks home (docs/format.md). Files come out as they went in, to the byte.
 *
 * Ranks run the same program, so their files say nearly the same; but each chunk is compressed by itself, which hides that. A pack
 * holds the payloads expanded, in one zstd frame with a long window, where what was said before costs nothing. A chunk is only
 * expanded when compressing it again gives the same bytes. The struct owns its buffers and zstd's context; a zeroed one
 * is closed.
 */
#ifndef SONDE_STORE_PACK_H
#define SONDE_STORE_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"
#include "store/record.h"
#include "store/writer.h"

struct err;

#define PACK_MAGIC        "\x89SNDPAK\n" /* 8 bytes, then the version */
#define PACK_VERSION      1
#define PACK_HEADER_BYTES 12u
#define PACK_NAME_MAX     255u
#define PACK_RECORD_MAX   (RECORD_CHUNK_MAX + 64u)

/* What stands in the frame: varint tag, varint size, body. */
enum pack_tag {
    PACK_FILE = 1,  /* a file begins: u64 size, u32 CRC-32C, name */
    PACK_BYTES = 2, /* of the file, as they are */
    PACK_CHUNK = 3, /* of the file: the header of a chunk, and its payload expanded */
    PACK_END = 4,   /* u64: how many files there were */
};

static inline bool pack_recognises(const void *data, size_t size)
{
    return size >= 8 && memcmp(data, PACK_MAGIC, 8) == 0;
}

struct pack {
    writer_sink *sink;
    void *context; /* for sink */
    void *stream;  /* zstd's */
    struct bytes expanded, again, out;
    uint64_t files;
};

int pack_open(struct pack *pack, writer_sink *sink, void *context, struct err *err);
/* A file may have this name in a pack: no way out of the folder, and nothing that a terminal or a shell would stumble on. */
bool pack_is_name(const char *name, size_t size);
int pack_add(struct pack *pack, const char *name, const void *data, size_t size, struct err *err);
/* Says that it is whole; then only pack_clear may follow. */
int pack_end(struct pack *pack, struct err *err);
void pack_clear(struct pack *pack);

#endif
