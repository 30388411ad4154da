#include "store/reader.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/checksum.h"
#include "base/err.h"
#include "store/chunk.h"
#include "store/compress.h"
#include "store/decode.h"
#include "store/record.h"
#include "store/recording.h"

/* Over all chunks: a small file must not be able to expand without end. Recordings shrink to a tenth or so. */
#define RAW_BYTES_MAX  ((uint64_t)16 << 30)
#define RAW_BYTES_FREE ((uint64_t)256 << 20)
#define RAW_RATIO_MAX  256

struct reader {
    const uint8_t *data;
    size_t size;
    size_t offset;
    const char *name;
    struct recording *recording;
    struct decode decode;
    struct bytes expanded; /* one payload at a time */
    uint64_t raw_bytes;
    uint64_t next_sequence;
};

static bool has_chunk_at(const uint8_t *data, size_t size, size_t offset)
{
    struct chunk chunk;
    return size >= offset + CHUNK_HEADER_BYTES && chunk_get(data + offset, &chunk);
}

/* The first chunk vouches for a file whose own magic was damaged. */
bool reader_recognises(const void *data, size_t size)
{
    return (size >= 8 && memcmp(data, CHUNK_FILE_MAGIC, 8) == 0) ||
           has_chunk_at(data, size, CHUNK_FILE_BYTES);
}

static int check_file_header(struct reader *reader, struct err *err)
{
    struct damage *damage = &reader->recording->damage;
    unsigned major = 0;
    reader->offset = CHUNK_FILE_BYTES;
    if (!reader_recognises(reader->data, reader->size))
        return err_set(err, "%s is not a sonde recording%s", reader->name,
                       reader->size ? "" : ": it is empty");
    if (reader->size < CHUNK_FILE_BYTES) {
        damage->truncated = true;
        reader->offset = reader->size;
        return 0;
    }
    switch (chunk_check_file_header(reader->data, &major)) {
    case CHUNK_FILE_GOOD:
        return 0;
    case CHUNK_FILE_NEWER:
        return err_set(err,
                       "%s has version %u of the sonde format; this sonde reads version %u: update sonde",
                       reader->name, major, RECORD_MAJOR);
    case CHUNK_FILE_DAMAGED:
    case CHUNK_FILE_FOREIGN:
        break;
    }
    damage->skipped_bytes += CHUNK_FILE_BYTES;
    return 0;
}

static bool is_read(uint16_t kind)
{
    return kind == RECORD_KIND_DEFS || kind == RECORD_KIND_INFO || kind == RECORD_KIND_CALLS ||
           kind == RECORD_KIND_SAMPLES || kind == RECORD_KIND_FLAT || kind == RECORD_KIND_END;
}

/* The payload ready for decoding, or NULL. */
static const uint8_t *expand(struct reader *reader, const struct chunk *chunk, const uint8_t *stored)
{
    if (chunk->compression == CHUNK_RAW)
        return chunk->stored_bytes == chunk->raw_bytes ? stored : NULL;
    bytes_reset(&reader->expanded);
    if (!bytes_reserve(&reader->expanded, (size_t)chunk->raw_bytes + 1)) {
        reader->decode.out_of_memory = true;
        return NULL;
    }
    int result = compress_expand(stored, chunk->stored_bytes, reader->expanded.data, chunk->raw_bytes);
    return result < 0 ? NULL : reader->expanded.data;
}

static enum chunk_state read_payload(struct reader *reader, const struct chunk *chunk, const uint8_t *stored)
{
    if (checksum_crc32c(0, stored, chunk->stored_bytes) != chunk->checksum)
        return CHUNK_DAMAGED;
    if (!is_read(chunk->kind) || chunk->compression > CHUNK_ZSTD)
        return CHUNK_UNKNOWN;
    reader->raw_bytes += chunk->raw_bytes;
    uint64_t orphaned_before = reader->decode.orphaned_rows;
    const uint8_t *payload = expand(reader, chunk, stored);
    if (!payload || !decode_payload(&reader->decode, payload, chunk->raw_bytes))
        return CHUNK_DAMAGED;
    reader->recording->damage.complete |= chunk->kind == RECORD_KIND_END;
    return reader->decode.orphaned_rows > orphaned_before ? CHUNK_ORPHANED : CHUNK_GOOD;
}

static void count_state(struct damage *damage, enum chunk_state state, uint32_t stored_bytes)
{
    damage->damaged_chunks += state == CHUNK_DAMAGED;
    damage->orphaned_chunks += state == CHUNK_ORPHANED;
    damage->unknown_chunks += state == CHUNK_UNKNOWN;
    if (state == CHUNK_DAMAGED)
        damage->skipped_bytes += stored_bytes;
}

static void add_chunk(struct reader *reader, const struct chunk *chunk, enum chunk_state state)
{
    uint32_t process = ids_find(&reader->decode.processes, chunk->process);
    struct chunk_info info = {.offset = reader->offset,
                              .clock_ns = chunk->clock_ns,
                              .process = process == IDS_UNKNOWN ? 0 : process,
                              .stored_bytes = chunk->stored_bytes,
                              .raw_bytes = chunk->raw_bytes,
                              .records = chunk->rows,
                              .kind = chunk->kind,
                              .state = (uint8_t)state};
    if (recording_add_chunk(reader->recording, &info) == UINT32_MAX)
        reader->decode.out_of_memory = true;
    count_state(&reader->recording->damage, state, chunk->stored_bytes);
}

/* Chunks are numbered: a gap tells how many are gone, a number met before that a chunk was copied. */
static bool is_repeated(struct reader *reader, const struct chunk *chunk)
{
    if (chunk->sequence < reader->next_sequence)
        return true;
    reader->recording->damage.damaged_chunks += chunk->sequence - reader->next_sequence;
    reader->next_sequence = (uint64_t)chunk->sequence + 1;
    return false;
}

static void read_chunk(struct reader *reader, const struct chunk *chunk)
{
    size_t left = reader->size - reader->offset - CHUNK_HEADER_BYTES;
    bool repeated = is_repeated(reader, chunk);
    if (chunk->stored_bytes > left) {
        reader->recording->damage.truncated = true;
        reader->recording->damage.skipped_bytes += left;
        reader->offset = reader->size;
        return;
    }
    const uint8_t *stored = reader->data + reader->offset + CHUNK_HEADER_BYTES;
    add_chunk(reader, chunk, repeated ? CHUNK_DAMAGED : read_payload(reader, chunk, stored));
    reader->offset += CHUNK_HEADER_BYTES + chunk->stored_bytes;
}

/* Moves to the next whole header, or to the end. */
static void resynchronise(struct reader *reader)
{
    struct damage *damage = &reader->recording->damage;
    size_t start = reader->offset;
    if (reader->size - start < CHUNK_HEADER_BYTES)
        damage->truncated = true;
    for (;;) {
        const uint8_t *from = reader->data + reader->offset + 1;
        size_t left = reader->size - reader->offset - 1;
        const uint8_t *sync = memmem(from, left, CHUNK_SYNC, CHUNK_SYNC_BYTES);
        reader->offset = sync ? (size_t)(sync - reader->data) : reader->size;
        if (!sync || has_chunk_at(reader->data, reader->size, reader->offset))
            break;
    }
    damage->skipped_bytes += reader->offset - start;
    if (reader->offset == reader->size && !damage->truncated)
        damage->damaged_chunks++; /* otherwise the gap in the numbers will tell how many */
}

static uint64_t raw_bytes_allowed(const struct reader *reader)
{
    uint64_t allowed = RAW_BYTES_FREE + (uint64_t)reader->size * RAW_RATIO_MAX;
    return allowed < RAW_BYTES_MAX ? allowed : RAW_BYTES_MAX;
}

static int read_chunks(struct reader *reader, struct err *err)
{
    while (reader->offset < reader->size) {
        struct chunk chunk;
        bool whole = reader->size - reader->offset >= CHUNK_HEADER_BYTES;
        if (whole && chunk_get(reader->data + reader->offset, &chunk))
            read_chunk(reader, &chunk);
        else
            resynchronise(reader);
        if (reader->decode.out_of_memory)
            return err_set(err, "out of memory while reading %s", reader->name);
        if (reader->raw_bytes > raw_bytes_allowed(reader))
            return err_set(err, "%s expands to more than %llu bytes, more than a recording of its size would",
                           reader->name, (unsigned long long)raw_bytes_allowed(reader));
    }
    reader->recording->damage.orphaned_rows = reader->decode.orphaned_rows;
    reader->recording->damage.unknown_records = reader->decode.unknown_records;
    if (recording_order_samples(reader->recording, err) < 0)
        return -1;
    return recording_compact_calls(reader->recording, err);
}

int reader_read(const void *data, size_t size, const char *name, struct recording *recording, struct err *err)
{
    struct reader reader = {.data = data, .size = size, .name = name, .recording = recording};
    reader.decode.recording = recording;
    int result = recording_init(recording, err);
    if (result == 0)
        result = check_file_header(&reader, err);
    if (result == 0)
        result = read_chunks(&reader, err);
    decode_clear(&reader.decode);
    bytes_clear(&reader.expanded);
    return result;
}
