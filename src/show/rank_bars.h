/*
 * rank_bars: one function on all ranks, as a bar for each, and how many ranks have how much. Of many ranks those that
 * follow one another share a bar, which then shows their mean, with the least and the most beside it.
 */
#ifndef SONDE_SHOW_RANK_BARS_H
#define SONDE_SHOW_RANK_BARS_H

#include <stdint.h>

struct bytes;
struct err;
struct rank_table;
struct report_options;

#define RANK_BARS_MAX 64 /* bars, unless all are asked for (a negative limit) */

int rank_bars_put(const struct rank_table *table, uint32_t code, const struct report_options *options,
                  struct bytes *out, struct err *err);

#endif
