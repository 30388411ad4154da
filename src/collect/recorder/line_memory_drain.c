#include "collect/recorder/line_memory_drain.h"

#include <stdlib.h>
#include <string.h>

#include "collect/agent/arena.h"
#include "collect/recorder/line_drain.h"
#include "store/writer.h"

void line_memory_drain_clear(struct line_memory_drain *drain)
{
    free(drain->lines);
    *drain = (struct line_memory_drain){0};
}

static bool make_room(struct line_memory_drain *drain, uint32_t count)
{
    if (count <= drain->capacity)
        return true;
    uint32_t larger = count + count / 2 + 256;
    struct arena_line_memory *grown = realloc(drain->lines, larger * sizeof *grown);
    if (!grown)
        return false;
    memset(grown + drain->capacity, 0, (larger - drain->capacity) * sizeof *grown);
    drain->lines = grown;
    drain->capacity = larger;
    return true;
}

/* Growth is what a program may have overwritten with anything: it wraps around, and is not judged. */
static int64_t difference(int64_t now, int64_t before)
{
    return (int64_t)((uint64_t)now - (uint64_t)before);
}

static void write_line(struct line_memory_drain *drain, const struct line_drain_ids *ids,
                       const struct arena_line_block *block, uint32_t place)
{
    struct arena_line_memory *before = &drain->lines[block->first_row + place];
    const struct arena_line_memory now = arena_read_line_memory(ids->view, block->first_row + place);
    if (memcmp(&now, before, sizeof now) == 0)
        return;
    const struct line_memory_row row = {
        .thread = ids->threads[block->thread],
        .code = ids->codes[block->code],
        .line = block->first_line + place,
        .hits = now.hits > before->hits ? now.hits - before->hits : 0,
        .heap_growth_bytes = difference(now.heap_growth_bytes, before->heap_growth_bytes),
        .rss_growth_bytes = difference(now.rss_growth_bytes, before->rss_growth_bytes),
        .heap_bytes = now.heap_bytes,
        .rss_bytes = now.rss_bytes,
    };
    writer_line_memory(ids->writer, &row);
    drain->hits += row.hits;
    *before = now;
}

bool line_memory_drain_block(struct line_memory_drain *drain, const struct line_drain_ids *ids,
                             const struct arena_line_block *block)
{
    if (!make_room(drain, block->first_row + block->line_count))
        return false;
    for (uint32_t place = 0; place < block->line_count; place++)
        write_line(drain, ids, block, place);
    return true;
}
