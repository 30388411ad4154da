/* run_totals: the figures of a whole run, as rows of its recording: how long, how dear, how many, how punctual. */
#ifndef SONDE_CLI_RUN_TOTALS_H
#define SONDE_CLI_RUN_TOTALS_H

#include <stdint.h>

struct recorder_result;
struct run;
struct run_options;
struct writer;

void run_totals_put(struct writer *writer, const struct run_options *options, const struct run *run,
                    const struct recorder_result *result);
/* Looks a second, of one process in the mean; 0 = not known. */
uint64_t run_totals_reached_hz(const struct recorder_result *result);

#endif
