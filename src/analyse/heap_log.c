#include "analyse/heap_log.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/map.h"
#include "store/recording.h"

enum fate { FATE_ALIVE, FATE_FREED, FATE_TEMPORARY };

/* The log played from the begin of the range to its end. */
struct playing {
    const struct recording *recording;
    uint32_t first, end;   /* rows in the range */
    struct map blocks;     /* address and process → the row that allocated it */
    uint8_t *fates;        /* by row from `first` on */
    uint64_t *freed_bytes; /* the same: of a mapping, what was given back in parts */
    uint32_t *last_of;     /* by thread: its latest allocation, plus 1 */
    bool failed;
};

/* Addresses of user space leave the upper bits free. */
static uint64_t key_of(const struct playing *playing, const struct allocation_row *row)
{
    return row->address ^ (uint64_t)playing->recording->threads[row->thread].process << 48;
}

static void play_allocation(struct playing *playing, uint32_t at)
{
    const struct allocation_row *row = &playing->recording->allocations[at];
    playing->last_of[row->thread] = at + 1;
    if (!map_set(&playing->blocks, key_of(playing, row), at))
        playing->failed = true;
}

/* A block that was allocated before the range is nobody's here. */
static void play_free(struct playing *playing, const struct allocation_row *row)
{
    uint32_t at = map_get(&playing->blocks, key_of(playing, row));
    if (at == MAP_NONE || playing->fates[at - playing->first] != FATE_ALIVE)
        return;
    const struct allocation_row *block = &playing->recording->allocations[at];
    uint64_t *freed_bytes = &playing->freed_bytes[at - playing->first];
    *freed_bytes += row->size_bytes;
    if (row->size_bytes && *freed_bytes < block->size_bytes)
        return;
    bool at_once = playing->last_of[block->thread] == at + 1;
    playing->fates[at - playing->first] = at_once ? FATE_TEMPORARY : FATE_FREED;
}

static void play(struct playing *playing)
{
    for (uint32_t i = playing->first; i < playing->end && !playing->failed; i++) {
        const struct allocation_row *row = &playing->recording->allocations[i];
        if (row->allocator == HEAP_FREE)
            play_free(playing, row);
        else
            play_allocation(playing, i);
    }
}

/* The first row that is not before `time_ns`. */
static uint32_t find(const struct recording *recording, uint64_t time_ns)
{
    uint32_t low = 0, high = recording->allocations_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (recording->allocations[middle].time_ns < time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool counts(enum measure measure, enum fate fate)
{
    switch (measure) {
    case MEASURE_TOTAL:
    case MEASURE_TOTAL_COUNT:
        return true;
    case MEASURE_TEMPORARY:
    case MEASURE_TEMPORARY_COUNT:
        return fate == FATE_TEMPORARY;
    default:
        return fate == FATE_ALIVE;
    }
}

static void tell(const struct playing *playing, const struct selection *selection, enum measure measure,
                 weights_visit *visit, void *context)
{
    for (uint32_t i = playing->first; i < playing->end; i++) {
        const struct allocation_row *row = &playing->recording->allocations[i];
        enum fate fate = playing->fates[i - playing->first];
        if (row->allocator == HEAP_FREE || !counts(measure, fate) ||
            !tree_selection_has(selection, playing->recording, row->thread))
            continue;
        bool in_parts = fate == FATE_ALIVE && !counts(measure, FATE_FREED);
        uint64_t bytes = row->size_bytes - (in_parts ? playing->freed_bytes[i - playing->first] : 0);
        const struct weight weight = {.thread = row->thread,
                                      .node = row->node,
                                      .amount = measure_unit(measure) == MEASURE_BLOCKS ? 1 : bytes,
                                      .samples = 1};
        visit(&weight, context);
    }
}

int heap_log_each(const struct recording *recording, const struct selection *selection, enum measure measure,
                  weights_visit *visit, void *context, struct err *err)
{
    struct playing playing = {.recording = recording};
    playing.first = find(recording, selection->begin_ns);
    playing.end = selection->end_ns ? find(recording, selection->end_ns) : recording->allocations_count;
    size_t count = playing.end > playing.first ? playing.end - playing.first : 0;
    playing.fates = calloc(count + 1, sizeof *playing.fates);
    playing.freed_bytes = calloc(count + 1, sizeof *playing.freed_bytes);
    playing.last_of = calloc((size_t)recording->threads_count + 1, sizeof *playing.last_of);
    playing.failed = !playing.fates || !playing.freed_bytes || !playing.last_of;
    if (!playing.failed)
        play(&playing);
    if (!playing.failed)
        tell(&playing, selection, measure, visit, context);
    map_clear(&playing.blocks);
    free(playing.fates);
    free(playing.freed_bytes);
    free(playing.last_of);
    return playing.failed ? err_set(err, "not enough memory to play %zu allocations again", count) : 0;
}
