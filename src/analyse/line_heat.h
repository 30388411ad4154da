/*
 * line_heat: what each line of one source file cost: its own time (the line ran) and its total time (the line was on
 * the stack, counted once where a stack passes it several times). Of functions whose lines were timed these are the times
 * of the lines, which include recursion; of others, what samples know.
 */
#ifndef SONDE_ANALYSE_LINE_HEAT_H
#define SONDE_ANALYSE_LINE_HEAT_H

#include <stdint.h>

struct err;
struct recording;
struct selection;

struct line_heat_row {
    uint64_t self_ns, total_ns;
    uint64_t samples; /* that the line ran */
    uint64_t hits;    /* exactly, where it was timed */
};

/* Rows by line, [0] unused. Owned. */
struct line_heat {
    struct line_heat_row *rows;
    uint32_t count;
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
