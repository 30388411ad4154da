/*
 * region_spans: when threads were in a region: the times from its begin to its end, for each thread one after the other.
 * Owns them; a zeroed struct is empty.
 */
#ifndef SONDE_ANALYSE_REGION_SPANS_H
#define SONDE_ANALYSE_REGION_SPANS_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct recording;

struct region_spans_row {
    uint64_t begin_ns, end_ns;
    uint32_t thread;
};

struct region_spans {
    struct region_spans_row *rows; /* by thread, then time; none touches another of its thread */
    uint32_t count;
};

/* Of all regions of that name. */
int region_spans_build(const struct recording *recording, const char *name, struct region_spans *spans,
                       struct err *err);
void region_spans_clear(struct region_spans *spans);
bool region_spans_has(const struct region_spans *spans, uint32_t thread, uint64_t time_ns);

/* Whether any region has that name. */
bool region_spans_knows(const struct recording *recording, const char *name);

#endif
