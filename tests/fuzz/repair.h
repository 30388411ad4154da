/*
 * repair: checksums would stop nearly every mutation of a .sonde file at the border; this makes those of whatever
 * looks like a chunk right.
 */
#ifndef SONDE_TESTS_FUZZ_REPAIR_H
#define SONDE_TESTS_FUZZ_REPAIR_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/checksum.h"
#include "store/chunk.h"

static inline void repair_put_u32(uint8_t *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static inline uint32_t repair_get_u32(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

#define REPAIR_SEQUENCE_AT 8
#define REPAIR_STORED_AT   40
#define REPAIR_RAW_AT      44
#define REPAIR_CHECKSUM_AT 52
#define REPAIR_HEADER_AT   60

/* Chunks end where the next begins, so that an inserted or removed byte does not cost the rest of the file. */
static inline void repair_chunks(uint8_t *data, size_t size)
{
    uint32_t sequence = 0;
    uint8_t *at = memmem(data, size, CHUNK_SYNC, CHUNK_SYNC_BYTES);
    while (at && (size_t)(data + size - at) >= CHUNK_HEADER_BYTES) {
        uint8_t *payload = at + CHUNK_HEADER_BYTES;
        size_t left = (size_t)(data + size - payload);
        uint8_t *next = memmem(payload, left, CHUNK_SYNC, CHUNK_SYNC_BYTES);
        uint32_t stored = (uint32_t)(next ? (size_t)(next - payload) : left);
        if (at[6] == CHUNK_RAW || repair_get_u32(at + REPAIR_STORED_AT) > left) {
            repair_put_u32(at + REPAIR_RAW_AT, stored);
            repair_put_u32(at + REPAIR_STORED_AT, stored);
        }
        repair_put_u32(at + REPAIR_SEQUENCE_AT, sequence++);
        repair_put_u32(at + REPAIR_CHECKSUM_AT,
                       checksum_crc32c(0, payload, repair_get_u32(at + REPAIR_STORED_AT)));
        repair_put_u32(at + REPAIR_HEADER_AT, checksum_crc32c(0, at, REPAIR_HEADER_AT));
        at = next;
    }
}

/* Checks the bytes as they are, and repaired. */
static inline void repair_check_both(const uint8_t *data, size_t size,
                                     void (*check)(const uint8_t *data, size_t size))
{
    check(data, size);
    uint8_t *copy = malloc(size + 1);
    if (copy) {
        memcpy(copy, data, size);
        repair_chunks(copy, size);
        check(copy, size);
    }
    free(copy);
}

#endif
