/*
 * reworked: mends the rules of code that a post-link optimizer (BOLT) has put together anew. It inlines
 * functions and copies tails behind `pop rbp` into bodies, and leaves the description "frame at rbp" standing:
 * a walk by it would lose a caller. The instructions tell: between `pop rbp` and the next `mov rsp, rbp` the
 * frame is counted from the stack pointer.
 */
#ifndef SONDE_UNWIND_REWORKED_H
#define SONDE_UNWIND_REWORKED_H

#include <stdbool.h>

#include "base/bytes.h"
#include "unwind/cfi.h"

/* Gives the mended rows out in order. `states` is working memory that is used again for the next function.
 * False when memory ran out or `emit` said so. */
bool reworked_mend(const struct cfi_function *function, struct bytes *states, cfi_emit *emit, void *context);

#endif
