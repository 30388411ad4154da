/*
 * line_reading: what the lines of functions have counted so far, with the time of lines that are going on. Of these the
 * hit is not counted yet: a reading is about lines that have ended.
 *
 * Under the interpreter lock. Owns its copy of the calls that are going on.
 */
#ifndef SONDE_COLLECT_INSIDE_LINE_READING_H
#define SONDE_COLLECT_INSIDE_LINE_READING_H

#include "collect/agent/arena.h"

struct line_reading {
    struct arena *arena;
    uint64_t now_ticks;
    struct arena_line_call *calls; /* of all threads */
    uint32_t call_count, capacity;
};

/* 0, or -1 when memory ran out; `arena` NULL = nothing was counted. */
int line_reading_init(struct line_reading *reading, struct arena *arena, uint64_t now_ticks);
void line_reading_clear(struct line_reading *reading);

/* Adds a block's lines to `sums`, which begin at `first_line`. Hits of lines that are going on count if they began
 * before `since_ticks`. */
void line_reading_add(const struct line_reading *reading, uint32_t block, uint64_t since_ticks,
                      struct arena_line *sums, uint32_t first_line, uint32_t line_count);

#endif
