/*
 * unpack: the bytes of a pack, as they come → its files, one after the other. The bytes are untrusted: sizes, names and counts are
 * checked here. A name that comes out has no folder in it, is not hidden, and no control character.
 *
 * Compressed chunks are compressed again. A zstd of another version may do that otherwise: then the file holds the same
 * recording in other bytes, and is counted. The struct owns its buffers, of which the largest is one file; a zeroed one is
 * closed.
 */
#ifndef SONDE_STORE_UNPACK_H
#define SONDE_STORE_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "store/pack.h"

struct err;

/* Takes a file, which is whole. Returns 0, or -1 with err set. */
typedef int unpack_sink(void *context, const char *name, const void *data, size_t size, struct err *err);

struct unpack {
    const char *name; /* of the pack, for messages; borrowed */
    unpack_sink *sink;
    void *context; /* for sink */
    void *stream;  /* zstd's */
    struct bytes header, held, file, again;
    char file_name[PACK_NAME_MAX + 1]; /* "" = none has begun */
    uint64_t size_bytes;               /* as the pack says, of the file */
    uint32_t checksum;
    bool is_other;               /* the file's bytes are not those that were packed */
    bool ended;                  /* the last record was read */
    bool is_checked;             /* the frame has ended, and its checksum was right */
    uint64_t read_bytes;         /* of the pack */
    uint64_t files, other_files; /* that went to the sink */
};

int unpack_open(struct unpack *unpack, const char *name, unpack_sink *sink, void *context, struct err *err);
int unpack_feed(struct unpack *unpack, const void *data, size_t size, struct err *err);
/* Nothing more will come: -1 when that is not all. */
int unpack_end(const struct unpack *unpack, struct err *err);
void unpack_clear(struct unpack *unpack);

#endif
