/*
 * line_suspects: the questions that findings asks of the times and memory of lines; rows of the table in suspects.c, whose header says what
 * they give.
 */
#ifndef SONDE_ANALYSE_LINE_SUSPECTS_H
#define SONDE_ANALYSE_LINE_SUSPECTS_H

#include <stdbool.h>

#include "analyse/suspects.h"

/* Whether the time that was measured lies in functions that were called, not in the lines that were timed; or it is
 * not known where. */
bool line_suspects_lie_elsewhere(const struct suspects *suspects);
/* The line that takes the most time: itself, or where the time lies elsewhere with its callees. */
double line_suspects_hot_line(const struct suspects *suspects, struct bytes *text, uint32_t *code);
/* The line that adds the most to memory, with its callees. */
double line_suspects_growth(const struct suspects *suspects, struct bytes *text, uint32_t *code);
/* The function of the program's own that samples have found in the most time, and whose lines were not timed all the same:
 * before 3.12 one that is on the stack when it is found, and not called again. */
double line_suspects_not_timed(const struct suspects *suspects, struct bytes *text, uint32_t *code);
/* Functions that were chosen and never ran. */
double line_suspects_never_ran(const struct suspects *suspects, struct bytes *text, uint32_t *code);

#endif
