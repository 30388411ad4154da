/* loaded: the modules of this process with their rows, for the programs of this folder. */
#ifndef SONDE_TESTS_UNWIND_LOADED_H
#define SONDE_TESTS_UNWIND_LOADED_H

#include "unwind/modules.h"

/* A new table of what is loaded now; rows of files seen before are used again. Not in a signal handler.
 * Nothing is ever freed: a handler may still use it. */
const struct modules *loaded_modules(void);

/* "libc.so.6+0x1234" */
void loaded_name(const struct modules *modules, uint64_t address, char *text, size_t size);

#endif
