/*
 * progress: one line on the terminal while a program is sampled, written over again and again and wiped at the end.
 * Nothing without a terminal, with --quiet, or in the first second; and nothing while a program that was started here
 * writes to the same terminal: the line would wipe out what the program has written on its last line.
 */
#ifndef SONDE_CLI_PROGRESS_H
#define SONDE_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

bool progress_is_wanted(void);
/* Whether the terminal is also that of a program that runs. */
void progress_share(bool shared);
void progress_show(uint64_t elapsed_ns, uint64_t samples, uint64_t errors);
/* The same for work after the run, of which so much is done. */
void progress_show_part(const char *what, uint64_t done, uint64_t all);
void progress_wipe(void);

#endif
