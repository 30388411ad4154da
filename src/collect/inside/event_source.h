/*
 * event_source: where the events come from: sys.monitoring from 3.12 on, the profile slot of each thread or the
 * frame evaluation hook before. Registered once for all traces, and only while one is active.
 */
#ifndef SONDE_COLLECT_INSIDE_EVENT_SOURCE_H
#define SONDE_COLLECT_INSIDE_EVENT_SOURCE_H

#include <stddef.h>

/* Brings the registration in line with what the active traces want. 0, or -1 with words. */
int event_source_update(char *why, size_t why_bytes);

#endif
