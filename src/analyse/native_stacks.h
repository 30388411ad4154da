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

/*
 * The same for a recording that is followed while it is made (store/follow.h): functions and nodes are added to it, and
 * what it holds of samples is moved to them. The nodes that came from the file stay, because more will hang from them.
 * Addresses that have no symbol by then keep the name library+offset.
 */
struct native_stacks;
struct native_stacks *native_stacks_new(struct recording *recording,
                                        bool internals); /* NULL: out of memory */
void native_stacks_free(struct native_stacks *stacks);
/* Call it once for each batch of samples, before they are looked at. */
int native_stacks_extend(struct native_stacks *stacks, struct err *err);

#endif
