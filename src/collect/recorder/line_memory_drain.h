/*
 * line_memory_drain: the part of a drain of lines that writes their memory. What was written so far is remembered for
 * each row, so that each step writes the difference; of the highest values the last word counts.
 */
#ifndef SONDE_COLLECT_RECORDER_LINE_MEMORY_DRAIN_H
#define SONDE_COLLECT_RECORDER_LINE_MEMORY_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

struct arena_line_block;
struct arena_line_memory;
struct line_drain_ids;

struct line_memory_drain {
    struct arena_line_memory *lines; /* by arena row */
    uint32_t capacity;
    uint64_t hits; /* written so far */
};

void line_memory_drain_clear(struct line_memory_drain *drain);
/* Writes what is new of a block that makes sense. False when memory ran out. */
bool line_memory_drain_block(struct line_memory_drain *drain, const struct line_drain_ids *ids,
                             const struct arena_line_block *block);

#endif
