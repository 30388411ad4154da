/*
 * mark_events: calls of marked functions from sys.monitoring (3.12 and later), through a tool id of our own. Marked functions
 * have events of their own; every other one is looked at when it is first called, and then told of no more.
 */
#ifndef SONDE_COLLECT_INSIDE_MARK_EVENTS_H
#define SONDE_COLLECT_INSIDE_MARK_EVENTS_H

#include <stddef.h>

/* 0, or -1 with words. */
int mark_events_begin(char *why, size_t why_bytes);

#endif
