#include "collect/inside/line_reading.h"

#include <string.h>

#include "collect/inside/interpreter.h"

static bool make_room(struct line_reading *reading, uint32_t more)
{
    uint32_t needed = reading->call_count + more;
    if (needed <= reading->capacity)
        return true;
    struct arena_line_call *grown = PyMem_Realloc(reading->calls, 2 * (size_t)needed * sizeof *grown);
    if (!grown)
        return false;
    reading->calls = grown;
    reading->capacity = 2 * needed;
    return true;
}

static int take_calls(struct line_reading *reading, const struct arena_thread *thread)
{
    uint32_t depth = thread->line_depth;
    if (thread->end_ticks || !depth)
        return 0;
    if (!make_room(reading, depth))
        return -1;
    struct arena_line_call *calls = reading->calls + reading->call_count;
    memcpy(calls, &arena_line_calls(reading->arena)[thread->line_call], depth * sizeof *calls);
    arena_settle_line_calls(calls, depth, reading->now_ticks);
    reading->call_count += depth;
    return 0;
}

int line_reading_init(struct line_reading *reading, struct arena *arena, uint64_t now_ticks)
{
    *reading = (struct line_reading){.arena = arena, .now_ticks = now_ticks};
    for (uint32_t i = 1; arena && i < arena->thread_count; i++)
        if (take_calls(reading, &arena_threads(arena)[i]) < 0) {
            line_reading_clear(reading);
            return -1;
        }
    return 0;
}

void line_reading_clear(struct line_reading *reading)
{
    PyMem_Free(reading->calls);
    *reading = (struct line_reading){0};
}

static void add(struct arena_line *sum, const struct arena_line *line)
{
    sum->hits += line->hits;
    sum->total_ticks += line->total_ticks;
    sum->self_ticks += line->self_ticks;
    if (!line->max_ticks)
        return;
    if (line->max_ticks > sum->max_ticks)
        sum->max_ticks = line->max_ticks;
    if (!sum->min_ticks || line->min_ticks < sum->min_ticks)
        sum->min_ticks = line->min_ticks;
}

static void add_open(const struct line_reading *reading, const struct arena_line_call *call,
                     uint64_t since_ticks, struct arena_line *sum)
{
    struct arena_line line = arena_open_line(call, reading->now_ticks);
    sum->total_ticks += line.total_ticks;
    sum->self_ticks += line.self_ticks;
    if (!call->rest && call->since_ticks >= since_ticks && sum->hits > 0)
        sum->hits--;
}

void line_reading_add(const struct line_reading *reading, uint32_t block, uint64_t since_ticks,
                      struct arena_line *sums, uint32_t first_line, uint32_t line_count)
{
    const struct arena_line_block *rows = &arena_line_blocks(reading->arena)[block];
    const struct arena_line *lines = &arena_lines(reading->arena)[rows->first_row];
    uint32_t shift = rows->first_line - first_line;
    for (uint32_t i = 0; i < rows->line_count; i++)
        if (shift + i < line_count)
            add(&sums[shift + i], &lines[i]);
    for (uint32_t i = 0; i < reading->call_count; i++) {
        const struct arena_line_call *call = &reading->calls[i];
        uint32_t place = call->row - rows->first_row;
        if (call->row && place < rows->line_count && shift + place < line_count)
            add_open(reading, call, since_ticks, &sums[shift + place]);
    }
}
