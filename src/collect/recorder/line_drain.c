#include "collect/recorder/line_drain.h"

#include <stdlib.h>
#include <string.h>

#include "collect/agent/arena.h"
#include "store/writer.h"

#define STACK_MAX (1u << 20) /* open calls of one thread that are believed */

struct written_line {
    uint64_t hits, total_ns, self_ns, min_ns, max_ns;
};

void line_drain_clear(struct line_drain *drain)
{
    line_memory_drain_clear(&drain->memory);
    free(drain->lines);
    *drain = (struct line_drain){0};
}

static bool make_room(struct line_drain *drain, uint32_t count)
{
    if (count <= drain->line_capacity)
        return true;
    uint32_t larger = count + count / 2 + 256;
    struct written_line *grown = drain->out_of_memory ? NULL : realloc(drain->lines, larger * sizeof *grown);
    if (!grown) {
        drain->out_of_memory = true;
        return false;
    }
    memset(grown + drain->line_capacity, 0, (larger - drain->line_capacity) * sizeof *grown);
    drain->lines = grown;
    drain->line_capacity = larger;
    return true;
}

static bool makes_sense(const struct line_drain_ids *ids, const struct arena_line_block *block)
{
    uint32_t rows = ids->view->limits.lines;
    return block->code < ids->code_count && block->thread < ids->thread_count && block->first_row < rows &&
           block->line_count <= rows - block->first_row &&
           block->line_count <= UINT32_MAX - block->first_line;
}

static uint64_t more(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

/* Rounds the total, not the difference, so that steps add up to what one step would have written. */
static void write_line(struct line_drain *drain, const struct line_drain_ids *ids,
                       const struct arena_line_block *block, uint32_t place, const struct written_line *now)
{
    struct written_line *before = &drain->lines[block->first_row + place];
    struct line_row row = {
        .thread = ids->threads[block->thread],
        .code = ids->codes[block->code],
        .line = block->first_line + place,
        .hits = more(now->hits, before->hits),
        .total_ns = more(now->total_ns, before->total_ns),
        .self_ns = more(now->self_ns, before->self_ns),
        .min_ns = now->min_ns,
        .max_ns = now->max_ns,
    };
    if (!row.hits && !row.total_ns && !row.self_ns)
        return;
    writer_line(ids->writer, ids->process, &row);
    drain->hits += row.hits;
    *before = *now;
}

/* Where no hit has ended, what there is stands for one. */
static struct written_line convert(const struct clock_rate *rate, const struct arena_line *line)
{
    bool known = line->max_ticks > 0;
    return (struct written_line){
        .hits = line->hits,
        .total_ns = clock_span_ns(rate, line->total_ticks),
        .self_ns = clock_span_ns(rate, line->self_ticks),
        .min_ns = clock_span_ns(rate, known ? line->min_ticks : line->total_ticks),
        .max_ns = clock_span_ns(rate, known ? line->max_ticks : line->total_ticks),
    };
}

/* `open` holds what lines that have not ended have taken so far, by arena row; NULL = nothing. */
static void write_block(struct line_drain *drain, const struct line_drain_ids *ids,
                        const struct clock_rate *rate, const struct arena_line_block *block,
                        const struct arena_line *open)
{
    if (!makes_sense(ids, block)) {
        drain->senseless_rows++;
        return;
    }
    if (ids->view->arena->measures_memory) {
        drain->out_of_memory |= !line_memory_drain_block(&drain->memory, ids, block);
        return;
    }
    if (!make_room(drain, block->first_row + block->line_count))
        return;
    for (uint32_t place = 0; place < block->line_count; place++) {
        struct arena_line line = arena_read_line(ids->view, block->first_row + place);
        if (open) {
            line.total_ticks += open[block->first_row + place].total_ticks;
            line.self_ticks += open[block->first_row + place].self_ticks;
        }
        struct written_line now = convert(rate, &line);
        write_line(drain, ids, block, place, &now);
    }
}

static void step(struct line_drain *drain, const struct line_drain_ids *ids, const struct clock_rate *rate,
                 const struct arena_line *open)
{
    uint32_t count = arena_line_block_count(ids->view);
    for (uint32_t i = 1; i < count; i++) {
        struct arena_line_block block = arena_read_line_block(ids->view, i);
        write_block(drain, ids, rate, &block, open);
    }
}

void line_drain_step(struct line_drain *drain, const struct line_drain_ids *ids,
                     const struct clock_rate *rate)
{
    step(drain, ids, rate, NULL);
}

static void charge_thread(const struct line_drain_ids *ids, const struct arena_thread *thread,
                          uint64_t end_ticks, struct arena_line *open)
{
    uint32_t depth = thread->line_depth, limit = ids->view->limits.line_calls;
    if (depth > STACK_MAX || thread->line_call >= limit || depth > limit - thread->line_call)
        return;
    struct arena_line_call *calls = calloc(depth + 1, sizeof *calls);
    for (uint32_t i = 0; calls && i < depth; i++)
        calls[i] = arena_read_line_call(ids->view, thread->line_call + i);
    if (calls)
        arena_settle_line_calls(calls, depth, end_ticks);
    for (uint32_t i = 0; calls && i < depth; i++) {
        struct arena_line line = arena_open_line(&calls[i], end_ticks);
        if (calls[i].row >= ids->view->limits.lines)
            continue;
        open[calls[i].row].total_ticks += line.total_ticks;
        open[calls[i].row].self_ticks += line.self_ticks;
    }
    free(calls);
}

void line_drain_finish(struct line_drain *drain, const struct line_drain_ids *ids,
                       const struct clock_rate *rate, uint64_t end_ticks)
{
    struct arena_line *open = calloc((size_t)ids->view->limits.lines + 1, sizeof *open);
    for (uint32_t i = 1; open && i < ids->thread_count; i++) {
        const struct arena_thread thread = arena_read_thread(ids->view, i);
        if (thread.line_depth)
            charge_thread(ids, &thread, thread.end_ticks ? thread.end_ticks : end_ticks, open);
    }
    step(drain, ids, rate, open);
    free(open);
}
