/*
 * line_heat: what each line of one source file cost, in time or memory: its own (the line ran) and in all (it was on
 * the stack, counted once where a stack passes it several times). Of functions whose lines were timed these are the times
 * of the lines, which include recursion; of others, what samples know. Of functions whose lines' memory was measured, what
 * they grew by besides.
 */
#ifndef SONDE_ANALYSE_LINE_HEAT_H
#define SONDE_ANALYSE_LINE_HEAT_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct recording;
struct selection;

struct line_heat_row {
    uint64_t self, total;
    uint64_t samples; /* that the line ran, or blocks that it allocated */
    uint64_t hits;    /* exactly, where it was timed or measured */
    int64_t
        growth_bytes; /* where its memory was measured: of the heap if that is known, else of what is resident */
    uint64_t highest_bytes; /* of the same, after the line */
};

/* Rows by line, [0] unused. Owned. */
struct line_heat {
    struct line_heat_row *rows;
    uint32_t count;
    bool has_memory;
};

/* Whose lines. */
struct line_heat_of {
    uint32_t file; /* a string of the recording */
    uint32_t code; /* one function of the file; 0 = all */
};

int line_heat_build(const struct recording *recording, const struct selection *selection,
                    struct line_heat_of of, struct line_heat *heat, struct err *err);
void line_heat_clear(struct line_heat *heat);

#endif
