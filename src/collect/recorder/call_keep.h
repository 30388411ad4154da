/*
 * call_keep: the last calls of a process, and lines of them, in as many bytes as they would take in a recording without
 * compression: what is older goes, a block at a time. A zeroed struct is empty; it owns its blocks.
 */
#ifndef SONDE_COLLECT_RECORDER_CALL_KEEP_H
#define SONDE_COLLECT_RECORDER_CALL_KEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "store/recording.h"

struct writer;

struct call_keep {
    uint64_t size_bytes;                  /* at most */
    struct call_keep_block *first, *last; /* the oldest, and the one that is being filled */
    uint64_t used_bytes;
    uint64_t gone_calls, gone_lines; /* that were let go */
};

/* False when memory ran out. */
bool call_keep_add(struct call_keep *keep, const struct call_event_row *row);
/* Gives everything to the writer, and is empty afterwards. How many rows. */
uint64_t call_keep_write(struct call_keep *keep, struct writer *writer);
void call_keep_clear(struct call_keep *keep);

#endif
