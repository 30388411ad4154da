/*
 * ranks_option: --ranks 0,7,100-115, which ranks of a run are recorded. The others run their program as if there were
 * no sonde: it takes the place of this process.
 */
#ifndef SONDE_CLI_RANKS_OPTION_H
#define SONDE_CLI_RANKS_OPTION_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct target_request;

/* Whether the list names the rank; NULL names all. -1 when it is no list of ranks. */
int ranks_option_has(const char *list, uint32_t rank, bool *has, struct err *err);
/* How many of so many ranks a good list names. */
uint32_t ranks_option_count(const char *list, uint32_t size);

/* Becomes the program; returns only when that fails, the exit code. */
int ranks_option_run_plainly(const struct target_request *request);

#endif
