/*
 * ids: ids as a file numbers them → ids as the recording numbers them.
 *
 * In a whole file the two are the same, and only their number is kept; after a damaged DEFS chunk there is a gap, every later
 * definition has moved, and these are kept in runs, in rising order of file id. A zeroed struct knows nothing (not even
 * id 0: that is the caller's "none"). The struct owns its runs.
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
    uint32_t equal; /* 1 to so many are the same on both sides */
    struct ids_run *runs;
    uint32_t count, capacity;
    uint32_t latest; /* the run that was found last: neighbours are asked for together */
};

void ids_clear(struct ids *ids);
/* For ids_define and ids_find: what is not the same on both sides. */
bool ids_define_moved(struct ids *ids, uint32_t file_id, uint32_t own_id);
uint32_t ids_find_moved(struct ids *ids, uint32_t file_id);

/* Whether every id is the same in the file and in the recording. */
static inline bool ids_are_equal(const struct ids *ids)
{
    return ids->count == 0;
}

/* The smallest file id that may still be defined. */
static inline uint32_t ids_next(const struct ids *ids)
{
    const struct ids_run *last = ids->count ? &ids->runs[ids->count - 1] : NULL;
    return last ? last->file_id + last->count : ids->equal + 1;
}

/* file_id must be at least ids_next. False when memory ran out. */
static inline bool ids_define(struct ids *ids, uint32_t file_id, uint32_t own_id)
{
    if (ids->count || file_id != own_id || file_id != ids->equal + 1)
        return ids_define_moved(ids, file_id, own_id);
    ids->equal++;
    return true;
}

/* IDS_UNKNOWN when it was never defined. */
static inline uint32_t ids_find(struct ids *ids, uint32_t file_id)
{
    return file_id - 1 < ids->equal ? file_id : ids_find_moved(ids, file_id);
}

#endif
