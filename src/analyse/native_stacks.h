/*
 * native_stacks: a recording's native addresses → functions. Afterwards stacks hold functions only: addresses
 * of one function share a code (and differ in their nodes' lines), frames that were inlined stand below what
 * swallowed them, and what has no name is called library+offset. The code's `module` is the library's name.
 *
 * The interpreter's own frames and what every thread begins with are left out unless asked for: their samples
 * are those of the frame above them. What counts as such is said in docs/native.md.
 *
 * A recording without native frames is not changed.
 */
#ifndef SONDE_ANALYSE_NATIVE_STACKS_H
#define SONDE_ANALYSE_NATIVE_STACKS_H

#include <stdbool.h>

struct err;
struct recording;

int native_stacks_name(struct recording *recording, bool internals, struct err *err);

#endif
