/*
 * thread_profiles: what every thread of every rank did, as call paths with inclusive times: what the formats of parallel
 * profilers (TAU, Caliper) are made of.
 *
 * A path is a stack of functions; lines are not told apart. Threads are counted as those formats count them: by rank, and
 * within a rank from 0, whatever process of the rank they belong to. A process without a rank of its own has that of the
 * nearest one above it. Where no process has a rank, each counts as one.
 *
 * thread_profiles_init adds everything up, thread_profiles_read gives one thread at a time. The struct owns its arrays; the
 * recording is borrowed.
 */
#ifndef SONDE_EXPORT_THREAD_PROFILES_H
#define SONDE_EXPORT_THREAD_PROFILES_H

#include <stdbool.h>
#include <stdint.h>

#include "export/frames.h"

struct err;
struct recording;
struct selection;

/* A thread that has anything to tell. */
struct thread_place {
    uint32_t thread; /* of the recording */
    uint32_t rank, number;
    uint32_t first_cell, end_cell;
};

struct thread_path {
    uint32_t
        node; /* of the recording: its functions up to the root are the path; 0 = the thread as a whole */
    uint32_t code;   /* the innermost function */
    uint32_t parent; /* row, smaller than the own; row 0 is the thread as a whole */
    uint64_t calls;  /* in what was sampled: samples with this path on the stack */
    uint64_t child_calls;
    uint64_t self_ns, total_ns;
    bool recursive; /* the function is further up, too */
};

/* One function of one thread, all its paths together; total_ns counts once in recursion. */
struct thread_function {
    uint32_t code;
    uint64_t calls, child_calls;
    uint64_t self_ns, total_ns;
};

struct thread_cell;
struct thread_profiles {
    const struct recording *recording;
    struct thread_place *places; /* by rank, then number */
    uint32_t count;
    bool sampled; /* calls are samples */
    bool ranked;  /* some process has a rank */
    struct frames frames;
    struct thread_cell *cells; /* by place, then node */
    uint32_t cell_count, cell_capacity;
    uint32_t *row_of; /* by node or code; all 0 between two calls */
};

/* The rows of one thread; they are its own. A zeroed struct is empty, and may be used for one thread after another. */
struct thread_profile {
    struct thread_path *paths; /* parents first; there is always row 0 */
    struct thread_function *functions;
    uint32_t count, function_count, capacity;
};

int thread_profiles_init(const struct recording *recording, const struct selection *selection,
                         struct thread_profiles *profiles, struct err *err);
void thread_profiles_clear(struct thread_profiles *profiles);
/* Numbers all nodes that are in any thread's paths, parents first: `nodes` by number, `number_of` by node (zeroed before). Both
 * have room for all nodes of the recording. Returns how many they are. */
uint32_t thread_profiles_number(const struct thread_profiles *profiles, uint32_t *nodes, uint32_t *number_of);
/* The path without its innermost function; 0 = none is left. */
uint32_t thread_profiles_parent(const struct thread_profiles *profiles, uint32_t node);
int thread_profiles_read(struct thread_profiles *profiles, const struct thread_place *place,
                         struct thread_profile *profile, struct err *err);
void thread_profiles_release(struct thread_profile *profile);

#endif
