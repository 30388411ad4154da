/*
 * events: what happens in the program by its own word: regions that begin and end, marks, values of counters, metadata, for a
 * recorder of whatever kind that has started it. Without one all of it does nothing.
 *
 * Any thread may call them, with the GIL or without; nothing waits, nothing fails: what there is no room for is left out and
 * counted. Ids last as long as the process, and in its forked children.
 */
#ifndef SONDE_COLLECT_INSIDE_EVENTS_H
#define SONDE_COLLECT_INSIDE_EVENTS_H

#include <sonde/zones.h>
#include <stdbool.h>
#include <stdint.h>

#include "collect/agent/event_area.h"
#include "collect/inside/interpreter.h"

enum events_kind {
    EVENTS_REGION = SONDE_REGION,
    EVENTS_MARK = SONDE_MARK,
    EVENTS_COUNTER = SONDE_COUNTER_NAME,
    EVENTS_ROW = EVENT_NAME_ROW, /* what the names alone say */
    EVENTS_MET_ROW = EVENT_NAME_MET_ROW,
};

/* Somebody records events of this process. */
static inline bool events_on(void)
{
    return sonde_zones_now() != NULL;
}

/* Equal names: equal id; 0 = no room (counted), or nobody records: then what is told under it is not recorded. */
uint32_t events_name(enum events_kind kind, const char *utf8, size_t bytes);
/* In this thread. */
void events_begin(uint32_t region);
/* The innermost open one of that region in this thread. */
void events_end(uint32_t region);
/* The same for something that takes turns on the thread, such as a task: what it begins, the same owner ends, whatever others
 * begin and end in between. 0 = the thread itself. */
void events_begin_for(uint32_t region, uint64_t owner);
void events_end_for(uint32_t region, uint64_t owner);
/* An instant, with a message or none. */
void events_mark(uint32_t mark, const char *text, size_t bytes);

/* The id of a name that is a str; 0 as above, and without an exception when it is none. */
uint32_t events_name_of(enum events_kind kind, PyObject *name);
/* Adds events_on, event_begin, event_end, event_mark, event_counter and event_metadata to the module. */
int events_add(PyObject *module);

#endif
