/*
 * heap_weights: what the stacks of a recording of memory weigh in a measure.
 *
 * Of the whole run that is what each stack's last row says. Of a range of time it is what was allocated in it: for PEAK and
 * LEAKED what was not freed in it, either. The log of single allocations tells that exactly; without it, it is told
 * from the history of the rows, and then PEAK and LEAKED are by how much a stack's live bytes have grown, where they have.
 */
#ifndef SONDE_ANALYSE_HEAP_WEIGHTS_H
#define SONDE_ANALYSE_HEAP_WEIGHTS_H

#include <stdbool.h>

#include "analyse/weights.h"

int heap_weights_each(const struct recording *recording, const struct selection *selection,
                      enum measure measure, weights_visit *visit, void *context, struct err *err);

/* Whether the selection is a range of time, and whether what is said of it is exact. */
bool heap_weights_of_range(const struct selection *selection);
bool heap_weights_is_exact(const struct recording *recording);

#endif
