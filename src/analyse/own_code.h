/*
 * own_code: a recording without the frames of libraries, so that whatever looks at it sees the user's own code alone.
 *
 * A library's frame is one of a file in the standard library or site-packages, or of a frozen module; C and native
 * frames go with the frame that called them. The time of what is left out goes to the caller. A stack that has no other
 * frames keeps its outermost one, so that no time is lost. Flat profiles become the stacks that are estimated
 * from them, unless there are samples, with which calls cannot be mixed. What is alive at the end and is the interpreter's
 * stays so: its heap rows have the allocator HEAP_FREE.
 */
#ifndef SONDE_ANALYSE_OWN_CODE_H
#define SONDE_ANALYSE_OWN_CODE_H

#include <stdbool.h>

#include "store/recording.h"

struct err;

/* Owns the nodes, calls, samples, heap rows and allocations of `recording`; all else in it is borrowed from the whole one, which must stay as it
 * is and outlive this. Ids of codes, strings, threads and processes are the whole one's. */
struct own_code {
    struct recording recording;
};

int own_code_build(const struct recording *whole, struct own_code *own, struct err *err);
void own_code_clear(struct own_code *own);

/* Whether the code lies in a library, by its flag or by its path (the sampler does not ask where a file lies). */
bool own_code_is_library(const struct recording *recording, const struct code *code);

#endif
