/*
 * call_weights: single calls as stacks that weigh the time that they themselves took, of the time that a selection takes in.
 * A call counts where it begins.
 */
#ifndef SONDE_ANALYSE_CALL_WEIGHTS_H
#define SONDE_ANALYSE_CALL_WEIGHTS_H

#include <stdbool.h>

#include "analyse/weights.h"

/* Whether the selection is of a part of the time, and calls can tell what belongs to it. */
bool call_weights_are_meant(const struct recording *recording, const struct selection *selection);
int call_weights_each(const struct recording *recording, const struct selection *selection,
                      weights_visit *visit, void *context, struct err *err);

#endif
