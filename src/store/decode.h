/*
 * decode: the records of one chunk's payload → rows of a recording. Every tag, size, count and id is checked
 * here. Rows that name an id which was lost are dropped and counted; a payload that breaks the grammar is
 * used up to the break.
 *
 * One struct decode lives through a whole file: it knows which ids were defined. A zeroed one with
 * `recording` set is ready. It owns its tables of ids; decode_clear frees them.
 */
#ifndef SONDE_STORE_DECODE_H
#define SONDE_STORE_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/ids.h"

struct recording;

struct decode {
    struct recording *recording;
    struct ids strings, codes, nodes, processes, threads, modules, counters, regions, communicators;
    uint32_t calls_compacted, lines_compacted; /* rows left by the last compaction */
    uint32_t meta_rows;
    uint32_t source_rows; /* the same */
    uint64_t orphaned_rows, unknown_records;
    bool out_of_memory;
};

void decode_clear(struct decode *decode);
/* Whether the recording's strings, codes and modules have the ids that the file gives them. */
bool decode_keeps_ids(const struct decode *decode);
/* False when the payload breaks the grammar, or memory ran out. */
bool decode_payload(struct decode *decode, const uint8_t *data, size_t size);

#endif
