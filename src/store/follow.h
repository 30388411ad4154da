/*
 * follow: a .sonde file as it grows: new bytes in, new rows out. The reader is this, fed once.
 *
 * However the bytes are cut into pieces, the rows, the ids and the damage are the same. The bytes are untrusted:
 * every id, size and count is checked, and what comes out obeys the invariants of recording.h, but for the order of
 * samples: they stand as they came.
 *
 * Who follows for long takes the new rows of data after each piece and calls follow_release: definitions and ids
 * stay, rows of data go, so that memory is bounded by the distinct stacks, not by time. The caller owns the
 * recording, the struct its buffers. At most one unfinished chunk is held.
 */
#ifndef SONDE_STORE_FOLLOW_H
#define SONDE_STORE_FOLLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "store/decode.h"

struct err;
struct recording;

struct follow {
    const char *name; /* for messages; borrowed */
    struct recording *recording;
    uint64_t raw_bytes_max; /* over all chunks; 0 = as many as their stored size allows */
    bool definitions_only;  /* chunks of data are checked, but not looked into */
    struct decode decode;
    struct bytes held;     /* bytes that came, but not yet all of their chunk */
    struct bytes expanded; /* one payload at a time */
    uint64_t offset;       /* in the file, of what is looked at next */
    uint64_t raw_bytes;
    uint64_t next_sequence;
    bool began;     /* the file's header was seen */
    bool searching; /* for the next whole chunk header, after damage */
};

/* `recording` must be empty. */
int follow_init(struct follow *follow, struct recording *recording, const char *name, struct err *err);
void follow_clear(struct follow *follow);

/* The bytes that come next in the file. -1 when they are no recording, or memory ran out: then there is no going on. */
int follow_feed(struct follow *follow, const void *data, size_t size, struct err *err);
/* Nothing more will come: what is held was cut off. */
int follow_end(struct follow *follow, struct err *err);
/* Drops the rows of data that were read so far, and keeps all definitions. */
void follow_release(struct follow *follow);

#endif
