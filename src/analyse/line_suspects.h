/*
 * line_suspects: the questions that findings asks of line times; rows of the table in suspects.c, whose header says what
 * they give.
 */
#ifndef SONDE_ANALYSE_LINE_SUSPECTS_H
#define SONDE_ANALYSE_LINE_SUSPECTS_H

#include "analyse/suspects.h"

/* The line that takes the most time: itself, or where that is not known with its callees. */
double line_suspects_hot_line(const struct suspects *suspects, struct bytes *text, uint32_t *code);
/* Functions that were chosen and never ran. */
double line_suspects_never_ran(const struct suspects *suspects, struct bytes *text, uint32_t *code);

#endif
