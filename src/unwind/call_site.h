/*
 * call_site: whether a call stands before a place in the code: what lies on a stack and is no return address is told
 * apart. Async-signal-safe.
 */
#ifndef SONDE_UNWIND_CALL_SITE_H
#define SONDE_UNWIND_CALL_SITE_H

#include <stdbool.h>
#include <stdint.h>

/* `before`: the eight bytes of x86-64 code up to the place, as they lie in memory. */
bool call_site_ends(uint64_t before);

#endif
