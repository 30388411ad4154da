/*
 * measure: what views of stacks are about: time, or one of the amounts of memory that a recording of the heap knows.
 *
 * A selection names the measure (analyse/tree.h), and every tree, table and picture of that selection is made of it:
 * their `self` and `total` are in the measure's unit. Recordings that know nothing of a measure give empty trees. Where
 * calls were only added up, a part of the time is told by samples, if there are any.
 */
#ifndef SONDE_ANALYSE_MEASURE_H
#define SONDE_ANALYSE_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/quantity.h"

struct bytes;
struct err;
struct recording;
struct selection;

enum measure {
    MEASURE_NATURAL, /* what the command that made the recording is about, of what there is */
    MEASURE_TIME,    /* of calls and lines; of samples where calls were not counted */
    MEASURE_SAMPLED, /* time of samples, in a recording of calls, too */
    /* Bytes: */
    MEASURE_PEAK,      /* alive when the heap was at its highest */
    MEASURE_TOTAL,     /* allocated in all */
    MEASURE_LEAKED,    /* alive at the end, without what the interpreter keeps (analyse/heap_kept.h) */
    MEASURE_TEMPORARY, /* freed before their thread allocated again */
    /* The numbers of those blocks: */
    MEASURE_PEAK_COUNT,
    MEASURE_TOTAL_COUNT,
    MEASURE_LEAKED_COUNT,
    MEASURE_TEMPORARY_COUNT,
};
#define MEASURE_END (MEASURE_TEMPORARY_COUNT + 1)

enum measure_unit { MEASURE_NS, MEASURE_BYTES, MEASURE_BLOCKS };

/* What people choose among, NULL-ended: peak, total, leaked, temporary, count, peak-count, ... */
extern const char *const measure_names[];

/* MEASURE_NATURAL for "", -1 with words when there is none of that name. */
int measure_find(const char *name, enum measure *measure, struct err *err);
/* The measure of a selection of this recording: never MEASURE_NATURAL. `selection` may be NULL. */
enum measure measure_of(const struct recording *recording, const struct selection *selection);
/* Whether such amounts are made of samples. */
bool measure_is_of_samples(const struct recording *recording, enum measure measure);
/* Whether views of it and of the natural one differ, or it is that. */
bool measure_is_offered(const struct recording *recording, enum measure measure);
/* Whether the recording knows what was allocated, or would have known. Resident sizes over time are counters. */
bool measure_has_memory(const struct recording *recording);

const char *measure_name(enum measure measure);
/* Completes "812 MiB ...": "alive at the peak". */
const char *measure_words(enum measure measure);
enum measure_unit measure_unit(enum measure measure);
/* Ends the names of fields: "ns", "bytes", "blocks". */
const char *measure_suffix(enum measure measure);
static inline bool measure_is_memory(enum measure measure)
{
    return measure >= MEASURE_PEAK;
}

/* "3.21 s", "812 MiB" or "1,024": what an amount is called in tables and sentences. */
struct quantity measure_quantity(enum measure measure, uint64_t amount);

#endif
