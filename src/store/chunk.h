/*
 * chunk: the file header and the chunk headers, bytes ↔ struct, for both the writer and the reader.
 *
 * Both headers carry their own checksum, so a header that chunk_get accepts is one that a writer made: its
 * sizes can be trusted to lead to the next chunk (and are within the limits of record.h).
 */
#ifndef SONDE_STORE_CHUNK_H
#define SONDE_STORE_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytes;

#define CHUNK_FILE_MAGIC   "\x89SONDE\r\n" /* 8 bytes; damaged by any text-mode or 7-bit transfer */
#define CHUNK_FILE_BYTES   16u
#define CHUNK_SYNC         "\xc5snd"
#define CHUNK_SYNC_BYTES   4u
#define CHUNK_HEADER_BYTES 64u

enum chunk_compression { CHUNK_RAW = 0, CHUNK_ZSTD = 1 };

struct chunk {
    uint16_t kind;       /* enum record_kind, or one of a newer version */
    uint8_t compression; /* enum chunk_compression, or one of a newer version */
    uint8_t flags;       /* none yet: 0 */
    uint32_t sequence;   /* 0, 1, 2... in file order */
    uint32_t process;    /* whose data; 0 = not of one process */
    uint64_t clock_ns;   /* monotonic, when the chunk was closed */
    uint64_t real_ns;    /* real time at the same moment */
    uint64_t first_ns;   /* the earliest time inside; 0 = the data have no times */
    uint32_t stored_bytes;
    uint32_t raw_bytes;
    uint32_t rows;
    uint32_t checksum; /* of the stored payload */
};

void chunk_put_file_header(struct bytes *out);
enum chunk_file { CHUNK_FILE_GOOD, CHUNK_FILE_FOREIGN, CHUNK_FILE_DAMAGED, CHUNK_FILE_NEWER };
/* What the first CHUNK_FILE_BYTES say. `major` receives the version when it is good or newer. */
enum chunk_file chunk_check_file_header(const uint8_t *data, unsigned *major);

/* Whether a recording begins here. 8 bytes are enough; a file whose own header was damaged is vouched for by its
 * first chunk. */
bool chunk_begins_file(const uint8_t *data, size_t size);

void chunk_put(struct bytes *out, const struct chunk *chunk);
/* From CHUNK_HEADER_BYTES bytes; false when they are not a whole and sane header. */
bool chunk_get(const uint8_t *data, struct chunk *chunk);

#endif
