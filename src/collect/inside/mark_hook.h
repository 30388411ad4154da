/*
 * mark_hook: calls of marked functions before 3.12, from the evaluation hook, around that of the lines and that of a trace.
 */
#ifndef SONDE_COLLECT_INSIDE_MARK_HOOK_H
#define SONDE_COLLECT_INSIDE_MARK_HOOK_H

#include <stddef.h>

/* 0, or -1 with words. */
int mark_hook_begin(char *why, size_t why_bytes);

#endif
