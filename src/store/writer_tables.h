/*
 * writer_tables: what a writer is made of, and how it fails, for the files that are the writer (writer.c, writer_native.c,
 * writer_mpi.c, resume.c) and no others. The first failure stays: from then on nothing is written.
 */
#ifndef SONDE_STORE_WRITER_TABLES_H
#define SONDE_STORE_WRITER_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "store/gather.h"
#include "store/recording.h"
#include "store/thread_owners.h"

struct writer {
    struct gather gather;
    struct recording known; /* the definitions made so far, but for threads, and the samples that are held */
    struct thread_owners threads;
    struct map met_threads, met_by; /* process and tid → the latest such thread, bits of who has met it */
    struct map codes, nodes;        /* hash of the definition → id */
    /* Of files of equal programs the next is mostly the one behind the last, or goes on where the order was left before. */
    uint32_t next_code, next_nodes[2];
    struct map modules;       /* (path, build id) → id */
    struct map addresses;     /* hash of (module, offset) → row */
    struct map counters;      /* hash of the definition → id */
    struct map regions;       /* likewise */
    struct map communicators; /* likewise */
    uint32_t logged_node;     /* of the last allocation that was logged */
    bool has_line_events;     /* calls have a column for lines until the next flush */
    struct map named;         /* code → row of what its symbol says */
    struct map inlinings;     /* hash of what the symbol says → row of it */
};

/* 0, which is no id, and false. */
uint32_t writer_tables_fail(struct writer *writer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
uint32_t writer_tables_fail_memory(struct writer *writer);
bool writer_tables_failed(const struct writer *writer);

/* Whether what a definition or a row names has been defined; else the writer has failed. */
bool writer_tables_knows(struct writer *writer, const char *what, uint32_t id, uint32_t count);
bool writer_tables_knows_strings(struct writer *writer, const uint32_t *ids, size_t count);
bool writer_tables_knows_thread(struct writer *writer, uint32_t id);
/* Whether rows of this thread and node may follow; chunks of data then are of the thread's process. */
bool writer_tables_begin_data(struct writer *writer, uint32_t thread, uint32_t node);

#endif
