#include "store/ids.h"

#include <stdlib.h>

void ids_clear(struct ids *ids)
{
    free(ids->runs);
    *ids = (struct ids){0};
}

static bool add_run(struct ids *ids, uint32_t file_id, uint32_t own_id)
{
    if (ids->count == ids->capacity) {
        uint32_t capacity = ids->capacity ? ids->capacity * 2 : 16;
        struct ids_run *runs = realloc(ids->runs, capacity * sizeof *runs);
        if (!runs)
            return false;
        ids->runs = runs;
        ids->capacity = capacity;
    }
    ids->runs[ids->count++] = (struct ids_run){file_id, 1, own_id};
    return true;
}

bool ids_define_moved(struct ids *ids, uint32_t file_id, uint32_t own_id)
{
    struct ids_run *last = ids->count ? &ids->runs[ids->count - 1] : NULL;
    if (!last || last->file_id + last->count != file_id || last->own_id + last->count != own_id)
        return add_run(ids, file_id, own_id);
    last->count++;
    return true;
}

static bool holds(const struct ids_run *run, uint32_t file_id)
{
    return file_id >= run->file_id && file_id - run->file_id < run->count;
}

uint32_t ids_find_moved(struct ids *ids, uint32_t file_id)
{
    if (ids->count == 0)
        return IDS_UNKNOWN;
    if (!holds(&ids->runs[ids->latest], file_id)) {
        uint32_t low = 0, high = ids->count;
        while (high - low > 1) {
            uint32_t middle = low + (high - low) / 2;
            if (ids->runs[middle].file_id <= file_id)
                low = middle;
            else
                high = middle;
        }
        if (!holds(&ids->runs[low], file_id))
            return IDS_UNKNOWN;
        ids->latest = low;
    }
    const struct ids_run *run = &ids->runs[ids->latest];
    return run->own_id + (file_id - run->file_id);
}
