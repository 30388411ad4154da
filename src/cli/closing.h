/*
 * closing: what a command that counts exactly (trace, line) says when its run has ended: a line on standard error,
 * and the report when it was asked for.
 */
#ifndef SONDE_CLI_CLOSING_H
#define SONDE_CLI_CLOSING_H

#include <stdbool.h>

#include "show/report_text.h"

struct recording;
struct run;

/* Says what was recorded. */
typedef void closing_tell(const struct run *run, const struct recording *recording);

/* Warnings, losses and remarks of the recording. */
void closing_tell_notes(const struct recording *recording);

/* `report` is printed if wanted, for a terminal if there is one; otherwise a hint says how to see it. The exit code. */
int closing_tell_run(const struct run *run, closing_tell *tell, bool wanted, struct report_options report);

#endif
