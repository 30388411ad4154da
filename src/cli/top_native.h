/*
 * top_native: the native frames of a recording that is followed while it is made, named as they come, so that they stand
 * in the live tables as they would in a report of it.
 *
 * To read the debug data of a library may take a while, so it is done in small steps, between which the caller goes on
 * taking in what is recorded. A zeroed struct names nothing.
 */
#ifndef SONDE_CLI_TOP_NATIVE_H
#define SONDE_CLI_TOP_NATIVE_H

#include <stdbool.h>

#include "cli/native_symbols.h"

struct native_stacks;

struct top_native {
    struct recording *recording; /* borrowed; NULL = native frames are not wanted */
    struct native_symbols names;
    struct native_stacks *stacks;
    uint32_t addresses_done;
};

int top_native_init(struct top_native *native, struct recording *recording, struct err *err);
void top_native_clear(struct top_native *native);

/* Names one more address. False when all have a name. */
bool top_native_step(struct top_native *native);
/* When they have: the samples of the recording stand at functions. */
int top_native_finish(struct top_native *native, struct err *err);

#endif
