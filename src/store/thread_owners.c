#include "store/thread_owners.h"

#include <stdbool.h>
#include <stdlib.h>

void thread_owners_clear(struct thread_owners *owners)
{
    free(owners->rows);
    *owners = (struct thread_owners){0};
}

static bool grow(struct thread_owners *owners)
{
    uint32_t capacity = owners->rows_capacity ? owners->rows_capacity * 2 : 16;
    if (owners->rows_count < owners->rows_capacity)
        return true;
    struct thread_owner *rows = realloc(owners->rows, capacity * sizeof *rows);
    if (!rows)
        return false;
    owners->rows = rows;
    owners->rows_capacity = capacity;
    return true;
}

uint32_t thread_owners_add(struct thread_owners *owners, uint32_t process)
{
    uint32_t id = owners->threads + 1, last = owners->rows_count - 1;
    if (id == UINT32_MAX)
        return 0;
    if (!owners->rows_count || owners->rows[last].process != process) {
        if (!grow(owners))
            return 0;
        owners->rows[owners->rows_count++] = (struct thread_owner){.first = id, .process = process};
    }
    return owners->threads = id;
}

uint32_t thread_owners_process(const struct thread_owners *owners, uint32_t thread)
{
    uint32_t low = 0, high = owners->rows_count;
    if (thread == 0 || thread > owners->threads)
        return 0;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (owners->rows[middle].first <= thread)
            low = middle;
        else
            high = middle;
    }
    return owners->rows[low].process;
}
