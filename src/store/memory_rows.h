/*
 * memory_rows: puts what was measured over time and allocated into the order that recording.h promises: series
 * by counter and time, regions by thread and time, the heap by stack and time, allocations by time; sizes and lines are added up.
 */
#ifndef SONDE_STORE_MEMORY_ROWS_H
#define SONDE_STORE_MEMORY_ROWS_H

struct err;
struct recording;

/* Quick when everything is in order already. */
int memory_rows_order(struct recording *recording, struct err *err);

#endif
