/*
 * ids: ids as a file numbers them → ids as the recording numbers them.
 *
 * In a whole file the two are the same and the table is one run; after a damaged DEFS chunk there is a gap,
 * and every later definition has moved. Runs are kept in rising order of file id. A zeroed struct knows
 * nothing (not even id 0: that is the caller's "none"). The struct owns its runs.
 */
#ifndef SONDE_STORE_IDS_H
#define SONDE_STORE_IDS_H

#include <stdbool.h>
#include <stdint.h>

#define IDS_UNKNOWN UINT32_MAX

struct ids_run {
    uint32_t file_id, count, own_id;
};

struct ids {
    struct ids_run *runs;
    uint32_t count, capacity;
    uint32_t latest; /* the run that was found last: neighbours are asked for together */
};

void ids_clear(struct ids *ids);
/* The smallest file id that may still be defined. */
uint32_t ids_next(const struct ids *ids);
/* file_id must be at least ids_next. False when memory ran out. */
bool ids_define(struct ids *ids, uint32_t file_id, uint32_t own_id);
/* Whether every id is the same in the file and in the recording. */
bool ids_are_equal(const struct ids *ids);
/* IDS_UNKNOWN when it was never defined. */
uint32_t ids_find(struct ids *ids, uint32_t file_id);

#endif
