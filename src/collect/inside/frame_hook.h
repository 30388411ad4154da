/*
 * frame_hook: calls and returns of Python functions from the frame evaluation hook (3.9 to 3.11), for traces
 * without C calls: far cheaper than the profile slot.
 *
 * Under the hook a Python call uses the C stack, which 3.11 otherwise spares. Before a thread's C stack runs
 * out, the hook gives way to the profile slot for the rest of the run.
 */
#ifndef SONDE_COLLECT_INSIDE_FRAME_HOOK_H
#define SONDE_COLLECT_INSIDE_FRAME_HOOK_H

#include <stdbool.h>

bool frame_hook_is_possible(void);
void frame_hook_set(bool active);

#endif
