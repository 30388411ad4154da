/* time_rows: rectangles on the time axis as arrays of an answer. */
#ifndef SONDE_QUERY_TIME_ROWS_H
#define SONDE_QUERY_TIME_ROWS_H

#include <stdint.h>

struct answer;
struct time_order;

/* `run_ns`: of what their shares are. */
void time_rows_put(struct answer *answer, const struct time_order *order, uint64_t run_ns);

#endif
