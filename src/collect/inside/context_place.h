/*
 * context_place: which context of contextvars this thread runs in: each task of an event loop has its own, and greenlets
 * have. CPython does not tell without making a copy; where the thread's state keeps it is tried out once.
 */
#ifndef SONDE_COLLECT_INSIDE_CONTEXT_PLACE_H
#define SONDE_COLLECT_INSIDE_CONTEXT_PLACE_H

#include "collect/inside/interpreter.h"

/* 0, or -1 with an exception; without a place everything seems to be one context. */
int context_place_find(void);

extern size_t context_place_offset; /* 0 = not found */

/* NULL where no variable was ever set. With the GIL. */
static inline const void *context_place_current(void)
{
    return context_place_offset ? *(void **)((char *)PyThreadState_Get() + context_place_offset) : NULL;
}

#endif
