/*
 * script_slots: where the threads of a CPython 3.14 or later look for a script that somebody outside wants them to run
 * (PEP 768). A thread that finds one runs it between two instructions, where all of Python may be used; one that waits
 * in C does so when it comes back.
 */
#ifndef SONDE_PYTHON_SCRIPT_SLOTS_H
#define SONDE_PYTHON_SCRIPT_SLOTS_H

#include "python/layouts.h"

/* Offsets in a thread state. */
struct script_slots {
    uint32_t
        breaker; /* a word; the thread looks at the other two when SCRIPT_SLOTS_LOOK is set in its lowest byte */
    uint32_t pending; /* int, 1 = there is a script */
    uint32_t path;    /* its path, ended by a 0 */
    uint32_t path_bytes;
};
#define SCRIPT_SLOTS_LOOK 0x20u

enum { SCRIPT_SLOTS_SINCE_MINOR = 14 };

/* Refuses, in words, a version without and an interpreter that was told not to take scripts. `runtime` is the address
 * of _PyRuntime, `interpreter` that of one of its interpreters. */
int script_slots_read(struct script_slots *slots, const struct layout *layout, const struct memory *memory,
                      uint64_t runtime, uint64_t interpreter, struct err *err);

#endif
