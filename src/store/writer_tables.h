/*
 * writer_tables: what a writer is made of, for the files that are the writer (writer.c, resume.c) and no others.
 */
#ifndef SONDE_STORE_WRITER_TABLES_H
#define SONDE_STORE_WRITER_TABLES_H

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
    struct map modules;             /* (path, build id) → id */
    struct map addresses;           /* hash of (module, offset) → row */
    struct map counters;            /* hash of the definition → id */
    struct map regions;             /* likewise */
    struct map communicators;       /* likewise */
    uint32_t logged_node;           /* of the last allocation that was logged */
    bool has_line_events;           /* calls have a column for lines until the next flush */
    struct map named;               /* code → row of what its symbol says */
    struct map inlinings;           /* hash of what the symbol says → row of it */
};

#endif
