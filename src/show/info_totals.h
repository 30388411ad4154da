/* info_totals: the chunks of a recording added up by kind; what `sonde info` shows as text and as JSON. */
#ifndef SONDE_SHOW_INFO_TOTALS_H
#define SONDE_SHOW_INFO_TOTALS_H

#include <stdint.h>

struct chunk_info;
struct note;
struct recording;

/* Kinds of a newer sonde share the row "unknown". */
#define INFO_TOTALS_MAX 32

struct info_total {
    const char *kind;
    uint64_t chunks, stored_bytes, raw_bytes, rows;
};

struct info_totals {
    struct info_total kinds[INFO_TOTALS_MAX]; /* in order of first appearance */
    uint32_t count;
    struct info_total all;
};

struct info_totals info_totals_of(const struct recording *recording);

const char *info_totals_kind(const struct chunk_info *chunk);
const char *info_totals_state(const struct chunk_info *chunk); /* "good", "damaged", "unknown", "orphaned" */
const char *info_totals_note(const struct note *note);         /* "loss", "refused", ... */

#endif
