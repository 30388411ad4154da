#include "analyse/rank_owners.h"

#include <stdlib.h>

#include "base/err.h"
#include "store/recording.h"

bool rank_owners_has_any(const struct recording *recording)
{
    for (uint32_t i = 1; i < recording->processes_count; i++)
        if (recording->processes[i].rank != RANK_NONE)
            return true;
    return false;
}

uint32_t rank_owners_only(const struct recording *recording)
{
    uint32_t only = RANK_NONE;
    for (uint32_t i = 1; i < recording->processes_count; i++) {
        uint32_t rank = recording->processes[i].rank;
        if (rank == RANK_NONE)
            continue;
        if (only != RANK_NONE && only != rank)
            return RANK_NONE;
        only = rank;
    }
    return only;
}

uint32_t *rank_owners_new(const struct recording *recording, struct err *err)
{
    uint32_t *owners = malloc(((size_t)recording->processes_count + 1) * sizeof *owners);
    if (!owners) {
        err_set(err, "not enough memory for the ranks of %u processes", recording->processes_count);
        return NULL;
    }
    owners[0] = rank_owners_only(recording);
    for (uint32_t i = 1; i < recording->processes_count; i++) {
        const struct process *process = &recording->processes[i];
        uint32_t parent = process->parent < i ? process->parent : 0;
        owners[i] = process->rank != RANK_NONE ? process->rank : owners[parent];
    }
    return owners;
}
