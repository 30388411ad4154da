/*
 * line_drain: the part of a drain that writes the times of lines, or their memory. What was written so far is remembered for each row, so
 * that each step writes the difference.
 */
#ifndef SONDE_COLLECT_RECORDER_LINE_DRAIN_H
#define SONDE_COLLECT_RECORDER_LINE_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "collect/recorder/line_memory_drain.h"

struct arena_view;
struct writer;
struct written_line;

struct line_drain {
    struct written_line *lines; /* by arena row */
    uint32_t line_capacity;
    struct line_memory_drain memory;
    uint64_t hits; /* written so far */
    uint64_t senseless_rows;
    bool out_of_memory;
};

/* What is known of the arena's other tables: ids in the file, by arena row. */
struct line_drain_ids {
    const struct arena_view *view;
    struct writer *writer;
    uint32_t process;
    const uint32_t *codes, *threads;
    uint32_t code_count, thread_count;
};

void line_drain_clear(struct line_drain *drain);
void line_drain_step(struct line_drain *drain, const struct line_drain_ids *ids,
                     const struct clock_rate *rate);
/* The last step: lines that have not ended are charged until `end_ticks`. */
void line_drain_finish(struct line_drain *drain, const struct line_drain_ids *ids,
                       const struct clock_rate *rate, uint64_t end_ticks);

#endif
