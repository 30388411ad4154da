/*
 * heap_log: what the log of single allocations says of a range of time: which blocks were allocated in it, which of them
 * were still alive at its end, and which were freed before their thread allocated again.
 */
#ifndef SONDE_ANALYSE_HEAP_LOG_H
#define SONDE_ANALYSE_HEAP_LOG_H

#include "analyse/weights.h"

/* Gives a weight for each block that counts in the measure: TOTAL all, PEAK and LEAKED those that are still alive when
 * the selection's range ends, TEMPORARY those freed at once; the same for the measures of numbers. */
int heap_log_each(const struct recording *recording, const struct selection *selection, enum measure measure,
                  weights_visit *visit, void *context, struct err *err);

#endif
