/*
 * rank_summary: the time in regions over all ranks of a run, printed by the first one when its program has ended and
 * SONDE_PRINT_SUMMARY (or PYOP2_PRINT_SUMMARY) asks for it. It is joined from the ranks' files, so that nobody has to
 * communicate: the first rank waits a little for those of the others.
 */
#ifndef SONDE_CLI_RANK_SUMMARY_H
#define SONDE_CLI_RANK_SUMMARY_H

#include <stdint.h>

/* `pattern`: what -o says, from which the names of the others' files are told; `start_s`: when this run began, by the
 * clock of the files. */
void rank_summary_print(const char *pattern, int64_t start_s);

#endif
