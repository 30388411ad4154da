#include "store/ids.h"

#include <stdlib.h>

void ids_clear(struct ids *ids)
{
    free(ids->runs);
    *ids = (struct ids){0};
}

bool ids_add_run(struct ids *ids, uint32_t file_id, uint32_t own_id)
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

bool ids_are_equal(const struct ids *ids)
{
    return ids->count == 0 || (ids->count == 1 && ids->runs[0].file_id == ids->runs[0].own_id);
}

uint32_t ids_find_run(struct ids *ids, uint32_t file_id)
{
    uint32_t low = 0, high = ids->count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (ids->runs[middle].file_id <= file_id)
            low = middle;
        else
            high = middle;
    }
    if (low == high || !ids_holds(&ids->runs[low], file_id))
        return IDS_UNKNOWN;
    ids->latest = low;
    return ids->runs[low].own_id + (file_id - ids->runs[low].file_id);
}
