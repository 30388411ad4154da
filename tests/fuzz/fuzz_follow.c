/*
 * A recording that comes in pieces, on any bytes: it never crashes, and it says what the reader says of the same
 * bytes at once. The sizes of the pieces are taken from the bytes themselves.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "store/follow.h"
#include "store/memory_rows.h"
#include "store/reader.h"
#include "tests/fuzz/repair.h"
#include "tests/recording_same.h"
#include "tests/store_sample.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int read_in_pieces(const uint8_t *data, size_t size, struct recording *recording)
{
    struct follow follow;
    int result = follow_init(&follow, recording, "fuzz", NULL);
    for (size_t at = 0, turn = 0; result == 0 && at < size; turn++) {
        size_t piece = 1 + data[(turn * 7919) % size];
        if (piece > size - at)
            piece = size - at;
        result = follow_feed(&follow, data + at, piece, NULL);
        at += piece;
    }
    if (result == 0)
        result = follow_end(&follow, NULL);
    follow_clear(&follow);
    if (result == 0)
        result = recording_order_samples(recording, NULL);
    if (result == 0)
        result = memory_rows_order(recording, NULL);
    return result == 0 ? recording_compact_calls(recording, NULL) : -1;
}

static void check(const uint8_t *data, size_t size)
{
    struct recording whole = {0}, pieces = {0};
    int at_once = reader_read(data, size, "fuzz", &whole, NULL);
    int in_pieces = read_in_pieces(data, size, &pieces);
    if (at_once != in_pieces)
        abort();
    if (at_once == 0 && (!recording_same(&whole, &pieces) || !sample_invariants_hold(&pieces)))
        abort();
    recording_clear(&whole);
    recording_clear(&pieces);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    repair_check_both(data, size, check);
    return 0;
}
