/*
 * The .sonde reader on any bytes: it never crashes, what it accepts obeys the invariants of recording.h, and
 * what it accepted can be written and read again with nothing lost.
 *
 * Checksums would stop nearly every mutation at the border, so each input is read twice: as it is, and with
 * the checksums of whatever looks like a chunk made right.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/checksum.h"
#include "store/chunk.h"
#include "store/reader.h"
#include "tests/store_sample.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put_u32(uint8_t *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static uint32_t get_u32(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

#define SEQUENCE_AT 8
#define STORED_AT   40
#define RAW_AT      44
#define CHECKSUM_AT 52
#define HEADER_AT   60

/* Chunks end where the next begins, so that an inserted or removed byte does not cost the rest of the file. */
static void repair(uint8_t *data, size_t size)
{
    uint32_t sequence = 0;
    uint8_t *at = memmem(data, size, CHUNK_SYNC, CHUNK_SYNC_BYTES);
    while (at && (size_t)(data + size - at) >= CHUNK_HEADER_BYTES) {
        uint8_t *payload = at + CHUNK_HEADER_BYTES;
        size_t left = (size_t)(data + size - payload);
        uint8_t *next = memmem(payload, left, CHUNK_SYNC, CHUNK_SYNC_BYTES);
        uint32_t stored = (uint32_t)(next ? (size_t)(next - payload) : left);
        if (at[6] == CHUNK_RAW || get_u32(at + STORED_AT) > left) {
            put_u32(at + RAW_AT, stored);
            put_u32(at + STORED_AT, stored);
        }
        put_u32(at + SEQUENCE_AT, sequence++);
        put_u32(at + CHECKSUM_AT, checksum_crc32c(0, payload, get_u32(at + STORED_AT)));
        put_u32(at + HEADER_AT, checksum_crc32c(0, at, HEADER_AT));
        at = next;
    }
}

static void require(bool fact)
{
    if (!fact)
        abort();
}

/* Equal definitions become one when written, so their numbers may shrink; rows of data never do. */
static void round_trip(const struct recording *recording)
{
    struct bytes file = {0};
    struct writer *writer = writer_new(&(struct writer_options){writer_sink_bytes, &file, NULL}, NULL);
    require(writer && writer_put_recording(writer, recording) == 0);
    require(writer_close(writer, NULL) == 0);
    struct recording again = {0};
    require(reader_read(file.data, file.size, "again", &again, NULL) == 0);
    require(again.damage.complete && again.damage.damaged_chunks == 0 && again.damage.skipped_bytes == 0);
    require(again.processes_count == recording->processes_count);
    require(again.threads_count == recording->threads_count);
    require(again.functions_count == recording->functions_count &&
            again.edges_count == recording->edges_count);
    require(again.notes_count == recording->notes_count);
    require(again.samples_count == recording->samples_count);
    require(again.nodes_count <= recording->nodes_count && again.calls_count <= recording->calls_count);
    recording_clear(&again);
    bytes_clear(&file);
}

static void check(const uint8_t *data, size_t size)
{
    struct recording recording = {0};
    struct err err = {0};
    if (reader_read(data, size, "fuzz", &recording, &err) == 0) {
        require(sample_invariants_hold(&recording));
        round_trip(&recording);
    } else {
        require(err_is_set(&err));
    }
    recording_clear(&recording);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check(data, size);
    uint8_t *copy = malloc(size + 1);
    if (copy) {
        memcpy(copy, data, size);
        repair(copy, size);
        check(copy, size);
    }
    free(copy);
    return 0;
}
