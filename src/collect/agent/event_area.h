/*
 * event_area: the memory through which a process tells the recorder of its events: regions that begin and end, marks, values of
 * counters, metadata. A table of names that only grows, and for each thread a ring of 16-byte slots.
 *
 * One fixed, sparse size. A ring has one writer, its thread, and one reader. An event is one slot, or a slot that is followed by
 * its text or number. What was put lies in shared memory: it outlives the process. The reader treats all of it as untrusted.
 */
#ifndef SONDE_COLLECT_AGENT_EVENT_AREA_H
#define SONDE_COLLECT_AGENT_EVENT_AREA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"

#define EVENT_AREA_MAGIC 0x616572612d747665u

enum {
    EVENT_AREA_THREADS = 256, /* at the same time */
    EVENT_AREA_RING = 1 << 19,
    EVENT_AREA_RING_LEAST = 1 << 10,
    EVENT_AREA_NAMES = 1 << 16,
    EVENT_AREA_INDEX = 1 << 17, /* places in the hash table of names */
    EVENT_AREA_NAME_BYTES = 1 << 22,
    EVENT_AREA_NAME_MAX = 4096, /* bytes of one name; what is longer is cut */
    EVENT_AREA_TEXT_MAX = 4096, /* of a mark or of metadata, likewise */
};

enum event_kind {
    EVENT_BEGIN = 1,     /* of a region; value: resident pages, where they are wanted */
    EVENT_END = 2,       /* of the innermost open one of that region, likewise */
    EVENT_BEGIN_FOR = 3, /* the same for an owner, which follows: a task of the thread */
    EVENT_END_FOR = 4,   /* the innermost open one of that region and owner */
    EVENT_MARK = 5,      /* value: bytes of text, which follow */
    EVENT_METADATA = 6,  /* likewise */
    EVENT_COUNTER = 7,   /* a double follows */
};

/* What a name is of: equal names of two kinds are two. */
enum event_name_kind {
    EVENT_NAME_REGION = 1,
    EVENT_NAME_MARK,
    EVENT_NAME_COUNTER,
    EVENT_NAME_METADATA,
    EVENT_NAME_ROW,     /* of --marks, in words */
    EVENT_NAME_MET_ROW, /* the same of one that has meant a function which was called */
};

struct event_slot {
    uint64_t ticks;
    uint32_t what; /* kind << 24 | name */
    uint32_t value;
};

/* Of a name: filled before any event says its id. */
struct event_name_row {
    uint32_t at, bytes; /* in the names' bytes */
    uint64_t hash;
    uint32_t kind; /* enum event_name_kind */
    uint32_t reserved;
};

/* A thread, or after its end another one. `serial` tells them apart: it is odd while a thread has the row. */
struct event_thread_row {
    uint32_t serial;
    uint32_t taking; /* 1 = a thread is about to take it */
    uint64_t tid;
    uint64_t start_ticks, end_ticks;
    char name[32];
    char apart[64];   /* from what the thread writes all the time */
    uint64_t written; /* slots, ever growing */
    char apart_too[56];
    uint64_t taken; /* by the reader, likewise */
};

struct event_area {
    uint64_t magic;
    uint64_t total_bytes;
    uint32_t ring_slots; /* a power of two */
    uint32_t python;     /* PY_VERSION_HEX; 0 = it is none */
    uint64_t pid;
    uint64_t start_ticks, start_ns; /* one reading of both clocks */
    double ns_per_tick;             /* 0 = ticks are the machine's counter: to be calibrated by the reader */
    uint32_t stop;                  /* set by the recorder: nobody reads any more */
    uint32_t resident;              /* 1 = regions say what is resident when they begin and end */

    uint32_t thread_count; /* rows that were ever taken */
    uint32_t name_count;   /* row 0 is "none" */
    uint32_t name_bytes;
    uint64_t lost_pairs;   /* regions that were left out, begin and end, because a ring was full */
    uint64_t lost_events;  /* other events, likewise */
    uint64_t lost_names;   /* names that there was no room for */
    uint64_t lost_threads; /* events of threads that found no row */
    uint64_t lost_nested;  /* events in signal handlers that interrupted the writing of another */

    struct event_thread_row threads[EVENT_AREA_THREADS];
    struct event_name_row names[EVENT_AREA_NAMES];
    uint32_t index[EVENT_AREA_INDEX]; /* of names, by hash; 0 = free */
    char texts[EVENT_AREA_NAME_BYTES];
    struct event_slot rings[];
};

uint64_t event_area_bytes(uint32_t ring_slots);
/* The longest rings that fit into so many bytes; 0 when none does. */
uint32_t event_area_ring_within(uint64_t bytes);
/* Makes zeroed memory of event_area_bytes(ring_slots) an area. */
void event_area_format(struct event_area *area, uint32_t ring_slots, uint64_t pid, uint32_t python);
/* Whether the header is sound for a mapping of `size` bytes. */
bool event_area_is_sound(const struct event_area *area, uint64_t size);

/* The id of a name, which is added when it is new; 0 without room for it. Any number of threads, and signal handlers, may ask
 * at the same time. */
uint32_t event_area_name(struct event_area *area, enum event_name_kind kind, const char *text, size_t bytes);
/* Gives an area without names those of another, under the same ids. */
void event_area_copy_names(struct event_area *area, const struct event_area *from);

static inline uint64_t event_area_now(const struct event_area *area)
{
    return area->ns_per_tick > 0 ? clock_monotonic_ns() : clock_counter();
}

/* How many slots follow the first one of an event with that value. */
static inline uint32_t event_area_extra(uint32_t kind, uint32_t value)
{
    if (kind == EVENT_COUNTER || kind == EVENT_BEGIN_FOR || kind == EVENT_END_FOR)
        return 1;
    uint32_t text = value < EVENT_AREA_TEXT_MAX ? value : EVENT_AREA_TEXT_MAX;
    return kind == EVENT_MARK || kind == EVENT_METADATA ? (text + 15) / 16 : 0;
}

#endif
