/*
 * gather: the lower half of the writer: rows become records, records chunks, and chunks go to the sink.
 *
 * Rows are encoded as they come, each table into its own open record; a flush closes the records and sends
 * the chunks, definitions first. A chunk that has grown large is sent without being asked. Failure is sticky,
 * in `err`: after the first, nothing more reaches the sink. A zeroed struct with options set is ready; it owns
 * its buffers until gather_clear.
 */
#ifndef SONDE_STORE_GATHER_H
#define SONDE_STORE_GATHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"
#include "store/record.h"
#include "store/writer.h"

/* The tables that are gathered at the same time, in the order in which they leave: what a row may name stands
 * in an earlier table, or earlier in its own. */
enum gather_table {
    GATHER_STRINGS,
    GATHER_CODES,
    GATHER_NODES,
    GATHER_PROCESSES,
    GATHER_THREADS,
    GATHER_CODE_FLAGS,
    GATHER_CODE_MODULES,
    GATHER_MODULES,
    GATHER_MAPPINGS,
    GATHER_ADDRESSES,
    GATHER_SYMBOLS,
    GATHER_COUNTERS,
    GATHER_REGIONS,
    GATHER_METAS,
    GATHER_NOTES,
    GATHER_CALLS,
    GATHER_LINES,
    GATHER_SAMPLES,
    GATHER_LINE_MEMORY,
    GATHER_ALLOCATIONS,
    GATHER_HEAP,
    GATHER_HEAP_SIZES,
    GATHER_SERIES,
    GATHER_REGION_EVENTS,
    GATHER_MARKS,
    GATHER_COMMUNICATORS,
    GATHER_CLOCKS,
    GATHER_MESSAGES,
    GATHER_COLLECTIVES,
    GATHER_MPI_TOTALS,
    GATHER_CALL_EVENTS,
    GATHER_FUNCTIONS,
    GATHER_EDGES,
    GATHER_SOURCE,
    GATHER_INDEX,
    GATHER_COUNT
};

#define GATHER_KINDS       (RECORD_KIND_END + 1)
#define GATHER_COLUMNS_MAX 16

struct gather {
    struct writer_options options;
    struct err err; /* the first failure */
    struct gather_record {
        struct bytes rows;
        uint64_t key;
        uint64_t previous[GATHER_COLUMNS_MAX]; /* the last row */
        uint32_t count, columns;
    } open[GATHER_COUNT];
    struct gather_chunk {
        struct bytes payload;  /* records that are closed */
        uint32_t rows;         /* in them */
        size_t gathered_bytes; /* in them, and in records still open */
        uint64_t first_ns;     /* the earliest time in them; 0 = none */
        uint64_t stored_bytes; /* of all that were sent */
    } chunks[GATHER_KINDS];
    struct gather_clock {
        bool is_set; /* else chunks say when they were closed */
        uint64_t clock_ns, real_ns;
    } clock;
    uint32_t data_process; /* whose calls, lines and samples are being gathered */
    uint32_t sequence;
    struct bytes packed; /* the compressor's output */
    struct bytes out;    /* whole chunks on their way to the sink */
    uint64_t written_bytes;
};

/* Sends the file header. */
void gather_begin(struct gather *gather);
/* Goes on behind `size_bytes` that are there, with this chunk number. */
void gather_continue(struct gather *gather, uint32_t sequence, uint64_t size_bytes);
/* Goes on behind the chunks with these headers, and lists them in the index: nothing else is in the file. */
void gather_place(struct gather *gather, const uint8_t *headers, size_t size);
/* As many values as the table has columns. Rows with equal keys that follow each other share a record. */
void gather_row(struct gather *gather, enum gather_table table, uint64_t key, const uint64_t *values);
/* The same without the last columns, which are read as 0. */
void gather_short_row(struct gather *gather, enum gather_table table, uint64_t key, const uint64_t *values,
                      uint32_t columns);
/* As gather_row for definitions, whose key is the first id of the record. */
void gather_definition(struct gather *gather, enum gather_table table, uint32_t id, const uint64_t *values);
void gather_string(struct gather *gather, uint32_t id, const char *text, size_t size);
/* One record for each text. */
void gather_source(struct gather *gather, uint32_t file, const void *text, size_t size);
/* A chunk holds data of one process: those of another are sent first. */
void gather_data_of(struct gather *gather, uint32_t process);
/* The chunk of that kind speaks of this time. */
void gather_time(struct gather *gather, enum record_kind kind, uint64_t time_ns);
int gather_flush(struct gather *gather);
/* Flushes and sends the END chunk. */
void gather_end(struct gather *gather);
void gather_clear(struct gather *gather);

static inline bool gather_failed(const struct gather *gather)
{
    return err_is_set(&gather->err);
}

#endif
