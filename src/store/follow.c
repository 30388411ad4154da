#include "store/follow.h"

#include <string.h>

#include "base/checksum.h"
#include "base/err.h"
#include "store/chunk.h"
#include "store/compress.h"
#include "store/record.h"
#include "store/recording.h"

/* A small file must not be able to expand without end. Recordings shrink to a tenth or so. */
#define RAW_BYTES_FREE ((uint64_t)256 << 20)
#define RAW_RATIO_MAX  256

/* What there is to look at: the bytes held and the new ones behind them. */
struct window {
    const uint8_t *at;
    size_t left;
    bool last; /* nothing comes after it */
};

int follow_init(struct follow *follow, struct recording *recording, const char *name, struct err *err)
{
    *follow = (struct follow){.name = name, .recording = recording, .decode.recording = recording};
    return recording_init(recording, err);
}

void follow_clear(struct follow *follow)
{
    decode_clear(&follow->decode);
    bytes_clear(&follow->held);
    bytes_clear(&follow->expanded);
}

static void advance(struct follow *follow, struct window *window, size_t size)
{
    window->at += size;
    window->left -= size;
    follow->offset += size;
}

/* ---- the file's header ---- */

static int check_file_header(struct follow *follow, struct window *window, struct err *err)
{
    unsigned major = 0;
    switch (chunk_check_file_header(window->at, &major)) {
    case CHUNK_FILE_GOOD:
        break;
    case CHUNK_FILE_NEWER:
        return err_set(err,
                       "%s has version %u of the sonde format; this sonde reads version %u: update sonde",
                       follow->name, major, RECORD_MAJOR);
    case CHUNK_FILE_DAMAGED:
    case CHUNK_FILE_FOREIGN:
        follow->recording->damage.skipped_bytes += CHUNK_FILE_BYTES;
    }
    follow->began = true;
    advance(follow, window, CHUNK_FILE_BYTES);
    return 0;
}

static int begin(struct follow *follow, struct window *window, struct err *err)
{
    bool recognised = chunk_begins_file(window->at, window->left);
    if (recognised && window->left >= CHUNK_FILE_BYTES)
        return check_file_header(follow, window, err);
    if (!window->last && window->left < CHUNK_FILE_BYTES + CHUNK_HEADER_BYTES)
        return 0;
    if (!recognised)
        return err_set(err, "%s is not a sonde recording%s", follow->name,
                       window->left ? "" : ": it is empty");
    follow->recording->damage.truncated = true;
    advance(follow, window, window->left);
    return 0;
}

/* ---- chunks ---- */

static bool is_read(uint16_t kind)
{
    return kind == RECORD_KIND_DEFS || kind == RECORD_KIND_INFO || kind == RECORD_KIND_CALLS ||
           kind == RECORD_KIND_LINES || kind == RECORD_KIND_SAMPLES || kind == RECORD_KIND_FLAT ||
           kind == RECORD_KIND_ALLOCATIONS || kind == RECORD_KIND_SERIES || kind == RECORD_KIND_EVENTS ||
           kind == RECORD_KIND_MPI || kind == RECORD_KIND_SOURCES || kind == RECORD_KIND_END;
}

static bool defines(uint16_t kind)
{
    return kind == RECORD_KIND_DEFS || kind == RECORD_KIND_SOURCES || kind == RECORD_KIND_END;
}

/* The payload ready for decoding, or NULL. */
static const uint8_t *expand(struct follow *follow, const struct chunk *chunk, const uint8_t *stored)
{
    if (chunk->compression == CHUNK_RAW)
        return chunk->stored_bytes == chunk->raw_bytes ? stored : NULL;
    bytes_reset(&follow->expanded);
    if (!bytes_reserve(&follow->expanded, (size_t)chunk->raw_bytes + 1)) {
        follow->decode.out_of_memory = true;
        return NULL;
    }
    int result = compress_expand(stored, chunk->stored_bytes, follow->expanded.data, chunk->raw_bytes);
    return result < 0 ? NULL : follow->expanded.data;
}

static enum chunk_state read_payload(struct follow *follow, const struct chunk *chunk, const uint8_t *stored)
{
    if (checksum_crc32c(0, stored, chunk->stored_bytes) != chunk->checksum)
        return CHUNK_DAMAGED;
    if (!is_read(chunk->kind) || chunk->compression > CHUNK_ZSTD)
        return CHUNK_UNKNOWN;
    if (follow->definitions_only && !defines(chunk->kind))
        return CHUNK_GOOD;
    follow->raw_bytes += chunk->raw_bytes;
    uint64_t orphaned_before = follow->decode.orphaned_rows;
    const uint8_t *payload = expand(follow, chunk, stored);
    if (!payload || !decode_payload(&follow->decode, payload, chunk->raw_bytes))
        return CHUNK_DAMAGED;
    follow->recording->damage.complete |= chunk->kind == RECORD_KIND_END;
    return follow->decode.orphaned_rows > orphaned_before ? CHUNK_ORPHANED : CHUNK_GOOD;
}

static void count_state(struct damage *damage, enum chunk_state state, uint32_t stored_bytes)
{
    damage->damaged_chunks += state == CHUNK_DAMAGED;
    damage->orphaned_chunks += state == CHUNK_ORPHANED;
    damage->unknown_chunks += state == CHUNK_UNKNOWN;
    if (state == CHUNK_DAMAGED)
        damage->skipped_bytes += stored_bytes;
}

static void add_chunk(struct follow *follow, const struct chunk *chunk, enum chunk_state state)
{
    uint32_t process = ids_find(&follow->decode.processes, chunk->process);
    struct chunk_info info = {.offset = follow->offset,
                              .clock_ns = chunk->clock_ns,
                              .real_ns = chunk->real_ns,
                              .process = process == IDS_UNKNOWN ? 0 : process,
                              .stored_bytes = chunk->stored_bytes,
                              .raw_bytes = chunk->raw_bytes,
                              .records = chunk->rows,
                              .kind = chunk->kind,
                              .state = (uint8_t)state};
    if (recording_add_chunk(follow->recording, &info) == UINT32_MAX)
        follow->decode.out_of_memory = true;
    count_state(&follow->recording->damage, state, chunk->stored_bytes);
}

/* Chunks are numbered: a gap tells how many are gone, a number met before that a chunk was copied. */
static bool is_repeated(struct follow *follow, const struct chunk *chunk)
{
    if (chunk->sequence < follow->next_sequence)
        return true;
    follow->recording->damage.damaged_chunks += chunk->sequence - follow->next_sequence;
    follow->next_sequence = (uint64_t)chunk->sequence + 1;
    return false;
}

/* False when the rest of the chunk is still to come. */
static bool read_chunk(struct follow *follow, const struct chunk *chunk, struct window *window)
{
    size_t left = window->left - CHUNK_HEADER_BYTES;
    bool whole = chunk->stored_bytes <= left;
    if (!whole && !window->last)
        return false;
    bool repeated = is_repeated(follow, chunk);
    if (!whole) {
        follow->recording->damage.truncated = true;
        follow->recording->damage.skipped_bytes += left;
        advance(follow, window, window->left);
        return true;
    }
    const uint8_t *stored = window->at + CHUNK_HEADER_BYTES;
    add_chunk(follow, chunk, repeated ? CHUNK_DAMAGED : read_payload(follow, chunk, stored));
    advance(follow, window, CHUNK_HEADER_BYTES + chunk->stored_bytes);
    return true;
}

/* ---- damage ---- */

static void skip(struct follow *follow, struct window *window, size_t size)
{
    follow->recording->damage.skipped_bytes += size;
    advance(follow, window, size);
}

/* The bytes end in the middle of a header, or in damage. */
static void skip_rest(struct follow *follow, struct window *window)
{
    struct damage *damage = &follow->recording->damage;
    if (!follow->searching)
        damage->truncated = true;
    else if (!damage->truncated)
        damage->damaged_chunks++; /* otherwise the gap in the numbers will tell how many */
    skip(follow, window, window->left);
}

/* Moves to what may be the next header: beyond the byte where none was. */
static void search(struct follow *follow, struct window *window)
{
    follow->searching = true;
    const uint8_t *sync = memmem(window->at + 1, window->left - 1, CHUNK_SYNC, CHUNK_SYNC_BYTES);
    size_t keep = CHUNK_SYNC_BYTES - 1; /* the mark may be cut in two */
    size_t beyond = window->left > keep + 1 ? window->left - keep : 1;
    skip(follow, window, sync ? (size_t)(sync - window->at) : beyond);
}

/* One step; false when more bytes are needed for it. */
static bool step(struct follow *follow, struct window *window)
{
    struct chunk chunk;
    if (window->left < CHUNK_HEADER_BYTES) {
        if (window->last)
            skip_rest(follow, window);
        return window->last;
    }
    if (!chunk_get(window->at, &chunk)) {
        search(follow, window);
        return true;
    }
    follow->searching = false;
    return read_chunk(follow, &chunk, window);
}

/* Judged by what came up to here, so that it does not matter in which pieces it came. */
static uint64_t raw_bytes_allowed(const struct follow *follow)
{
    uint64_t allowed = RAW_BYTES_FREE + follow->offset * RAW_RATIO_MAX;
    return !follow->raw_bytes_max || allowed < follow->raw_bytes_max ? allowed : follow->raw_bytes_max;
}

static int consume(struct follow *follow, struct window *window, struct err *err)
{
    if (!follow->began && begin(follow, window, err) < 0)
        return -1;
    while (follow->began && window->left && step(follow, window)) {
        if (follow->decode.out_of_memory)
            return err_set(err, "out of memory while reading %s", follow->name);
        if (follow->raw_bytes > raw_bytes_allowed(follow))
            return err_set(err, "%s expands to more than %llu bytes, more than a recording of its size would",
                           follow->name, (unsigned long long)raw_bytes_allowed(follow));
    }
    follow->recording->damage.orphaned_rows = follow->decode.orphaned_rows;
    follow->recording->damage.unknown_records = follow->decode.unknown_records;
    follow->recording->damage.renumbered = !decode_keeps_ids(&follow->decode);
    follow->recording->next_sequence = (uint32_t)follow->next_sequence;
    return 0;
}

/* ---- pieces ---- */

/* Keeps what could not be used yet. `left` bytes lie at the end of what is held, or of the piece itself. */
static int hold(struct follow *follow, const struct window *window, struct err *err)
{
    struct bytes *held = &follow->held;
    if (held->size) {
        memmove(held->data, window->at, window->left);
        held->size = window->left;
    } else {
        bytes_put(held, window->at, window->left);
    }
    return held->failed ? err_set(err, "out of memory while reading %s", follow->name) : 0;
}

int follow_feed(struct follow *follow, const void *data, size_t size, struct err *err)
{
    struct window window = {data, size, false};
    if (size == 0)
        return 0;
    if (follow->held.size) {
        bytes_put(&follow->held, data, size);
        if (follow->held.failed)
            return err_set(err, "out of memory while reading %s", follow->name);
        window = (struct window){follow->held.data, follow->held.size, false};
    }
    return consume(follow, &window, err) < 0 ? -1 : hold(follow, &window, err);
}

int follow_end(struct follow *follow, struct err *err)
{
    struct window window = {follow->held.data, follow->held.size, true};
    int result = consume(follow, &window, err);
    bytes_reset(&follow->held);
    return result;
}

void follow_release(struct follow *follow)
{
    struct recording *recording = follow->recording;
    recording->calls_count = 0;
    recording->lines_count = 0;
    recording->samples_count = 0;
    recording->series_count = 0;
    recording->region_events_count = 0;
    recording->marks_count = 0;
    recording->messages_count = 0;
    recording->collectives_count = 0;
    recording->mpi_totals_count = 0;
    recording->call_events_count = 0;
    recording->heap_count = 0;
    recording->heap_sizes_count = 0;
    recording->allocations_count = 0;
    recording->line_memory_count = 0;
    recording->functions_count = 0;
    recording->edges_count = 0;
    recording->notes_count = 0;
    recording->chunks_count = 0;
    follow->decode.calls_compacted = follow->decode.lines_compacted = 0;
}
