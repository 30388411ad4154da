/*
 * depth: where a function is described by its frame register (rbp), how far below the frame address its stack pointer
 * is while it waits for a call: told by its instructions. Of a sleeping thread the kernel tells the stack pointer
 * alone, and this leads to the caller all the same. Where the code moves the stack pointer by what it has computed
 * (alloca, large alignment) there is no such number.
 *
 * Only calls count: between two of them the number is that of the next one, so that few rows are needed.
 */
#ifndef SONDE_UNWIND_DEPTH_H
#define SONDE_UNWIND_DEPTH_H

#include <stdbool.h>

#include "base/bytes.h"
#include "unwind/cfi.h"

/* Gives the rows out in order, with depths. `scratch` is working memory that is used again for the next function.
 * False when memory ran out or `emit` said so. */
bool depth_note(const struct cfi_function *function, struct bytes *scratch, cfi_emit *emit, void *context);

#endif
