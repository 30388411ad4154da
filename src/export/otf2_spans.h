/*
 * otf2_spans: all that one thread did from a time to a time, one inside the other: calls, regions, calls of MPI.
 *
 * Spans are ordered by their beginnings, the outer before the inner, on the clock of the run, and end within the one that they
 * began in. A zeroed struct is empty; it owns its rows.
 */
#ifndef SONDE_EXPORT_OTF2_SPANS_H
#define SONDE_EXPORT_OTF2_SPANS_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/mpi_groups.h"
#include "analyse/rank_clocks.h"

struct err;
struct recording;
struct region_span;

struct otf2_span {
    uint64_t begin_ns, end_ns;
    uint32_t region;        /* a code, otf2_spans_region or otf2_spans_mpi */
    const void *message;    /* struct message_row, or NULL */
    const void *collective; /* struct collective_row, or NULL */
    uint32_t order;         /* of what begins and ends together */
    uint32_t depth;         /* how many it lies in */
    bool again;             /* the same call as the span before, which another message was in, too */
};

struct otf2_spans {
    const struct recording *recording;
    struct mpi_groups groups;
    struct rank_clocks clocks;
    struct region_span *regions;
    uint32_t region_count;
    uint32_t next_region, next_call, next_message,
        next_collective;    /* of the thread after those that were read */
    struct otf2_span *rows; /* of the thread that was read last */
    uint32_t count, capacity;
};

int otf2_spans_init(struct otf2_spans *spans, const struct recording *recording, struct err *err);
void otf2_spans_clear(struct otf2_spans *spans);
/* Reads a thread; threads come in their order. */
int otf2_spans_read(struct otf2_spans *spans, uint32_t thread, struct err *err);

/* The numbers of regions: first the codes, then the program's regions, then MPI's calls. */
uint32_t otf2_spans_region(const struct recording *recording, uint32_t region);
uint32_t otf2_spans_mpi(const struct recording *recording, uint32_t call);

#endif
