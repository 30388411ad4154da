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
#include <stddef.h>
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
/* Whether every id is the same in the file and in the recording. */
bool ids_are_equal(const struct ids *ids);
/* For the two below: a new run, and a look at all runs. */
bool ids_add_run(struct ids *ids, uint32_t file_id, uint32_t own_id);
uint32_t ids_find_run(struct ids *ids, uint32_t file_id);

/* The smallest file id that may still be defined. */
static inline uint32_t ids_next(const struct ids *ids)
{
    return ids->count ? ids->runs[ids->count - 1].file_id + ids->runs[ids->count - 1].count : 1;
}

/* file_id must be at least ids_next. False when memory ran out. */
static inline bool ids_define(struct ids *ids, uint32_t file_id, uint32_t own_id)
{
    struct ids_run *last = ids->count ? &ids->runs[ids->count - 1] : NULL;
    if (!last || last->file_id + last->count != file_id || last->own_id + last->count != own_id)
        return ids_add_run(ids, file_id, own_id);
    last->count++;
    return true;
}

static inline bool ids_holds(const struct ids_run *run, uint32_t file_id)
{
    return file_id >= run->file_id && file_id - run->file_id < run->count;
}

/* IDS_UNKNOWN when it was never defined. */
static inline uint32_t ids_find(struct ids *ids, uint32_t file_id)
{
    if (!ids->count || !ids_holds(&ids->runs[ids->latest], file_id))
        return ids_find_run(ids, file_id);
    return ids->runs[ids->latest].own_id + (file_id - ids->runs[ids->latest].file_id);
}

#endif
