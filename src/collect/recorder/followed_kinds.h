/*
 * followed_kinds: what can be done with each kind of memory that a process shares with the recorder: arenas, areas of samples, of
 * allocations, of events. One table row for each; who follows a process knows the row, not the kind.
 */
#ifndef SONDE_COLLECT_RECORDER_FOLLOWED_KINDS_H
#define SONDE_COLLECT_RECORDER_FOLLOWED_KINDS_H

#include <stdbool.h>
#include <stdint.h>

struct clock_rate;
struct followed;
struct followed_origin;
struct native_files;

/* What the memory says of its process. */
struct followed_facts {
    uint32_t python; /* PY_VERSION_HEX; 0 = it is none */
    uint64_t start_ns;
};

struct followed_kind {
    uint32_t purpose; /* enum session_message */
    bool has_rings;   /* which are small: to be emptied between checkpoints, too */
    /* Whether a mapping of so many bytes is what it says. */
    bool (*is_sound)(void *memory, uint64_t bytes);
    struct followed_facts (*facts)(const void *memory);
    /* The drain of a process whose memory is mapped and whose id is known; NULL without memory. */
    void *(*open)(struct followed *followed, const struct followed_origin *origin,
                  struct native_files *files);
    /* Writes what is new. True while it should be looked after soon again. */
    bool (*step)(void *drain, const struct clock_rate *rate);
    void (*finish)(void *drain, const struct clock_rate *rate, uint64_t end_ticks);
    void (*free)(void *drain);
    /* Tells the process that nobody reads any more. */
    void (*stop)(void *memory);
    /* A log that some have, to be emptied between checkpoints as rings are, without the rest; NULL = none has one. */
    bool (*has_log)(const void *drain);
    bool (*step_log)(void *drain, const struct clock_rate *rate);
};

/* The row of a message; NULL when it announces no memory. */
const struct followed_kind *followed_kinds_find(uint32_t purpose);

#endif
