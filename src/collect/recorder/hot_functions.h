/*
 * hot_functions: finds the functions that a program spends its time in, from its samples, while it runs: what the lines of
 * are timed when nobody has named any. A sample counts for the innermost function of the program's own; those of the
 * standard library and of installed packages are taken only when the program's own have hardly any.
 *
 * Once found, a function stays. Owns its counts.
 */
#ifndef SONDE_COLLECT_RECORDER_HOT_FUNCTIONS_H
#define SONDE_COLLECT_RECORDER_HOT_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct recording;
struct sample_row;

struct hot_functions {
    uint32_t limit;                /* how many are wanted; 0 = nothing is counted */
    uint64_t *own_counts, *counts; /* samples by code id: innermost of the program's own, innermost of all */
    uint32_t capacity;
    uint64_t samples, own_samples;
    uint32_t *found; /* codes */
    uint32_t found_count;
    uint64_t next_ns, interval_ns; /* when they are looked at again */
};

void hot_functions_clear(struct hot_functions *hot);
/* One more sample, whose ids are those of `known`. */
void hot_functions_count(struct hot_functions *hot, const struct recording *known,
                         const struct sample_row *row);
/* Finds more, when it is time to; true when it did. */
bool hot_functions_find(struct hot_functions *hot, const struct recording *known, uint64_t now_ns);
/* Asks a process, by its arena, for the lines of all that were found. */
void hot_functions_ask(const struct hot_functions *hot, const struct recording *known, struct arena *arena);

#endif
