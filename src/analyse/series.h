/*
 * series: a counter over time as pictures and reports need it: how high and how low it was, when, and in each stretch
 * of time.
 *
 * A level (bytes) holds from one point to the next. A sum only grows (CPU time): what is shown of it is how fast, from
 * each point to the next, for one second; of nanoseconds for one nanosecond, so that CPU time becomes CPUs in use. The
 * rows are borrowed, unless series_sum has made them.
 */
#ifndef SONDE_ANALYSE_SERIES_H
#define SONDE_ANALYSE_SERIES_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/timeline.h"

struct err;
struct recording;
struct series_row;

struct series {
    const struct series_row *rows; /* by time */
    uint32_t count;
    uint8_t kind; /* enum counter_kind */
    double scale; /* of a sum: what a growth by one in a nanosecond is */
};

/* From one point to the next: what was shown in all that time. */
struct series_piece {
    uint64_t begin_ns, end_ns;
    double value;
};
uint32_t series_piece_count(const struct series *series);
struct series_piece series_piece_at(const struct series *series, uint32_t index);

/* What a row of it says, as a number. */
double series_value(const struct series *series, const struct series_row *row);
struct series series_of(const struct recording *recording, uint32_t counter);
/* All counters of that name as one: levels of processes that run at the same time added up, sums of all. Free `rows` in
 * the end; NULL and an empty series when there is none. */
int series_sum(const struct recording *recording, const char *name, struct series_row **rows,
               struct series *series, struct err *err);

struct series_summary {
    uint32_t points;
    uint64_t begin_ns, end_ns;       /* of the first and the last point */
    double first, last, least, most; /* 0 when there are no points */
    double mean;                     /* over time */
    uint64_t most_ns;                /* when it was the highest, the first time */
};

struct series_summary series_summarise(const struct series *series);

/* The smallest and the largest value in each of `columns` equal stretches from begin_ns to end_ns; NAN where nothing is
 * known. No value is left out, however short it was. */
void series_columns(const struct series *series, uint64_t begin_ns, uint64_t end_ns, uint32_t columns,
                    double *least, double *most);

/* The name of the memory of processes that the recording has, by preference: rss, pss, uss, heap; NULL = none. */
const char *series_memory_name(const struct recording *recording);
/* Whether it holds counters, and nothing of functions. */
bool series_is_all(const struct recording *recording);

/* From the first point of any counter to the last; both 0 when there are none. */
struct timeline_axis series_axis(const struct recording *recording);
/* Of samples, or what is known of the heap, and counters together: what a page shows. */
struct timeline_axis series_whole_axis(const struct recording *recording);

#endif
