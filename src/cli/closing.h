/*
 * closing: what a command that counts exactly (trace, line, mem) says when its run has ended: a line on standard error,
 * and the report when it was asked for.
 */
#ifndef SONDE_CLI_CLOSING_H
#define SONDE_CLI_CLOSING_H

#include <stdbool.h>

#include "show/report_text.h"

struct recording;
struct run;

/* Says what was recorded; `values` are the command's. */
typedef void closing_tell(const struct run *run, const struct recording *recording, const void *values);

/* Says what the recording notes of losses and the like, then `tell`. `report` is printed if wanted, for a terminal if there
 * is one; otherwise a hint says how to see it. The exit code. */
int closing_tell_run(const struct run *run, closing_tell *tell, const void *values, bool wanted,
                     struct report_options report);

#endif
