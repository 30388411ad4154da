/*
 * tau_profile: TAU's rows, from whatever file they come, → a recording: a process for each node and context (the node is the
 * rank), a thread for each thread, call rows.
 *
 * Rows that are call paths ("a => b") give the tree; a function's own row then only says what its paths leave over. Where
 * a thread has no paths, or they are cut short (TAU_CALLPATH_DEPTH), who called whom is not known for certain: its functions then
 * lie below the one that ran all the time, with their own times and calls, and if it is the only thread it becomes a flat
 * profile (functions and pairs, inclusive times as TAU has them). What TAU's own sampling adds below a timer, and rows for
 * values of parameters, are left out: the timer has that time already. User events have no times: they become metas.
 *
 * A zeroed struct with `recording` set (and initialised) is ready. Call thread, then attribute, row and event, then
 * end_thread, for each thread; then finish. It owns its tables; the recording is borrowed. Failure (memory ran out) is sticky.
 */
#ifndef SONDE_IMPORT_TAU_PROFILE_H
#define SONDE_IMPORT_TAU_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/strings.h"
#include "import/tau_names.h"
#include "store/flat.h"

struct recording;

#define TAU_PROFILE_PLACE_MAX 100000000 /* of nodes, contexts and threads */

struct tau_values {
    double calls, self_us, total_us;
};

struct tau_row {
    uint32_t name; /* of `names` */
    uint64_t calls, self_ns, total_ns;
};

/* What the call paths that end in a function say together. */
struct tau_ended {
    uint64_t calls, self_ns;
    bool heads; /* some path begins with it */
};

/* A user event, over all threads. */
struct tau_sum {
    uint64_t count;
    double min, max, total;
};

struct tau_profile {
    struct recording *recording;
    bool alone; /* there is one thread only */

    struct tau_names names;
    struct map nodes;     /* (parent, code) → node */
    struct map processes; /* (node, context) → process */
    struct flat flat;

    /* The thread that is being read. */
    uint32_t process, thread;
    bool ours; /* sonde wrote it */
    struct tau_row *rows;
    uint32_t rows_count, rows_capacity;
    struct tau_ended *ended; /* by code */
    uint32_t ended_capacity;

    struct strings event_names;
    struct tau_sum *events; /* by name */
    uint32_t events_capacity;
    uint64_t flat_threads, left_out;
    bool failed;
};

/* Begins a thread; larger numbers than TAU_PROFILE_PLACE_MAX must have been refused. */
void tau_profile_thread(struct tau_profile *profile, uint32_t node, uint32_t context, uint32_t thread);
/* Metadata; those of a thread come before its rows. */
void tau_profile_attribute(struct tau_profile *profile, struct tau_span name, struct tau_span value);
/* `is_parameter`: a row for the values of a parameter of a function that has a row of its own. */
void tau_profile_row(struct tau_profile *profile, struct tau_span name, bool is_parameter,
                     const struct tau_values *values);
void tau_profile_event(struct tau_profile *profile, struct tau_span name, const struct tau_sum *values);
void tau_profile_end_thread(struct tau_profile *profile);
/* -1 when something failed on the way: memory ran out. */
int tau_profile_finish(struct tau_profile *profile);
void tau_profile_clear(struct tau_profile *profile);

#endif
