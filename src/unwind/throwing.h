/*
 * throwing: the end of a function that throws: libgcc's, which copies the frame pointer and the return address of
 * the frame that catches over its own and leaves for there. Its description does not say so: a walk by it would mix
 * two frames. Its code tells: the last call but one does the copying, and the last tells debuggers the frame address
 * of the frame that catches, which is where the stack goes on.
 */
#ifndef SONDE_UNWIND_THROWING_H
#define SONDE_UNWIND_THROWING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/rows.h"

/* Whether a function's rule is that of its leave: the frame address is in a register that is no part of frames. */
bool throwing_leaves(const struct rows_rule *rule);

/* The end of a function that leaves at `leave` for another frame, `rule` being the last before: makes it that of the
 * end, and gives the offset from which on it holds; `leave` when nothing is found. */
size_t throwing_end(const uint8_t *code, size_t leave, struct rows_rule *rule);

#endif
