/*
 * record: the vocabulary of a .sonde file: chunk kinds, record tags, limits. docs/format.md explains each and
 * is checked against these lists by tests/tools/test_format.py.
 *
 * Numbers are never reused or renumbered: they are what old files hold. A kind or tag that is listed here but
 * not yet written or read by this version is reserved for the collector named beside it; readers skip it as
 * they skip one that they have never heard of.
 */
#ifndef SONDE_STORE_RECORD_H
#define SONDE_STORE_RECORD_H

#include <stdint.h>

#define RECORD_MAJOR 1
#define RECORD_MINOR 0

/* Limits that every file obeys; a reader may rely on them, and refuses what does not. */
#define RECORD_CHUNK_MAX  (64u << 20) /* payload bytes, stored or raw */
#define RECORD_STRING_MAX (1u << 20)  /* bytes of one string; the writer cuts longer ones */
#define RECORD_SOURCE_MAX (1u << 20)  /* bytes of one source file; longer ones are not kept */
#define RECORD_TAG_MAX    0xffffu
#define RECORD_ID_MAX     (UINT32_MAX - 1)

/* What a chunk is about, so that a reader can pass over whole chunks that it does not need. */
#define RECORD_KINDS(X)                                                                                      \
    X(DEFS, 1)        /* definitions: the only chunks that others depend on */                               \
    X(INFO, 2)        /* facts about the run: metadata, notes */                                             \
    X(CALLS, 3)       /* the call tree's counters */                                                         \
    X(FLAT, 4)        /* flat profiles that were imported */                                                 \
    X(SAMPLES, 5)     /* the sampler */                                                                      \
    X(LINES, 6)       /* the line profiler */                                                                \
    X(ALLOCATIONS, 7) /* the memory profiler */                                                              \
    X(SERIES, 8)      /* values over time: resident size, CPU, user's plots */                               \
    X(EVENTS, 9)      /* the timeline: calls, regions, marks */                                              \
    X(WAITS, 10)      /* locks and blocking */                                                               \
    X(GPU, 11)        /* kernels, copies, API calls */                                                       \
    X(MPI, 12)        /* messages and collectives */                                                         \
    X(SOURCES, 13)    /* texts of source files */                                                            \
    X(END, 14)        /* the recorder closed the file; index */

/* What a record says. Tags are unique over all kinds, so that a record means the same wherever it stands. */
#define RECORD_TAGS(X)                                                                                       \
    X(STRINGS, 1)                                                                                            \
    X(CODES, 2)                                                                                              \
    X(NODES, 3)                                                                                              \
    X(PROCESSES, 4)                                                                                          \
    X(THREADS, 5)                                                                                            \
    X(CODE_FLAGS, 6)                                                                                         \
    X(MODULES, 7)                                                                                            \
    X(MAPPINGS, 8)                                                                                           \
    X(ADDRESSES, 9)                                                                                          \
    X(SYMBOLS, 10)                                                                                           \
    X(REGIONS, 11)                                                                                           \
    X(COUNTERS, 12)                                                                                          \
    X(LOCKS, 13)                                                                                             \
    X(DEVICES, 14)                                                                                           \
    X(STREAMS, 15)                                                                                           \
    X(COMMUNICATORS, 16)                                                                                     \
    X(TASKS, 17)                                                                                             \
    X(CLOCKS, 18)                                                                                            \
    X(CODE_MODULES, 19)                                                                                      \
    X(METAS, 32)                                                                                             \
    X(NOTES, 33)                                                                                             \
    X(CALLS, 64)                                                                                             \
    X(FUNCTIONS, 65)                                                                                         \
    X(EDGES, 66)                                                                                             \
    X(SAMPLES, 67)                                                                                           \
    X(SAMPLE_COUNTS, 68)                                                                                     \
    X(LINE_TIMES, 69)                                                                                        \
    X(LINE_MEMORY, 70)                                                                                       \
    X(ALLOCATIONS, 71)                                                                                       \
    X(HEAP, 72)                                                                                              \
    X(SERIES, 73)                                                                                            \
    X(CALL_EVENTS, 74)                                                                                       \
    X(REGION_EVENTS, 75)                                                                                     \
    X(REGION_TOTALS, 76)                                                                                     \
    X(MARKS, 77)                                                                                             \
    X(WAITS, 78)                                                                                             \
    X(WAIT_TOTALS, 79)                                                                                       \
    X(KERNELS, 80)                                                                                           \
    X(COPIES, 81)                                                                                            \
    X(GPU_CALLS, 82)                                                                                         \
    X(MESSAGES, 83)                                                                                          \
    X(COLLECTIVES, 84)                                                                                       \
    X(MPI_TOTALS, 85)                                                                                        \
    X(SWITCHES, 86)                                                                                          \
    X(HEAP_SIZES, 87)                                                                                        \
    X(SOURCE, 96)                                                                                            \
    X(INDEX, 112)                                                                                            \
    X(END_OFFSET, 113)

#define RECORD_KIND_ROW(name, number) RECORD_KIND_##name = number,
#define RECORD_TAG_ROW(name, number)  RECORD_##name = number,
enum record_kind { RECORD_KINDS(RECORD_KIND_ROW) };
enum record_tag { RECORD_TAGS(RECORD_TAG_ROW) };
#undef RECORD_KIND_ROW
#undef RECORD_TAG_ROW

/* "CALLS"; NULL when this version does not know the kind. */
static inline const char *record_kind_name(unsigned kind)
{
    switch (kind) {
#define RECORD_KIND_NAME(name, number)                                                                       \
    case number:                                                                                             \
        return #name;
        RECORD_KINDS(RECORD_KIND_NAME)
#undef RECORD_KIND_NAME
    }
    return 0;
}

#endif
