/*
 * chosen: a recording of which only chosen stacks or frames are left, so that whatever looks at it sees these alone.
 *
 * Stacks can be chosen by module: those that pass through any of the given ones stay, with their callers and with what
 * they call; so times are those in the modules and in what these called. A module's name takes in its submodules. Rows of
 * lines stay where their function is in one of the modules. A sample that is left out keeps its place in time
 * (SAMPLE_LEFT_OUT), so that nothing seems to have lasted into it.
 *
 * Stacks can be chosen by region: those seen or allocated in a thread while it was in a region of that name. Calls that
 * were recorded one by one count when they began in it. Calls that were added up, lines and what is known of the heap have
 * no region and are left out.
 *
 * Stacks can be chosen by rank: those of the processes of these ranks (analyse/rank_part.h). Region events, marks and
 * series are the whole recording's.
 *
 * Frames of libraries can be left out; C and native frames go with the frame that called them. The time of what is left
 * out goes to the caller. A stack that has no other frames keeps its outermost one, so that no time is lost.
 *
 * Flat profiles become the stacks that are estimated from them, unless there are samples, with which calls cannot be
 * mixed. What is alive at the end and is the interpreter's stays so: its heap rows have the allocator HEAP_FREE.
 */
#ifndef SONDE_ANALYSE_CHOSEN_H
#define SONDE_ANALYSE_CHOSEN_H

#include <stdbool.h>

#include "store/recording.h"

struct err;

struct chosen_by {
    const char *modules; /* names, a line for each; NULL or "" = all */
    const char *region;  /* a name; NULL or "" = all */
    const char *ranks;   /* a list such as "0,7,100-115"; NULL or "" = all */
    bool own;            /* without the frames of libraries */
};

/* Owns the nodes, calls, samples, lines, heap rows, allocations and MPI's rows of `recording`; all else in it is borrowed from the
 * whole one, which must stay as it is and outlive this. Ids of codes, strings, threads and processes are the whole one's. */
struct chosen {
    struct recording recording;
};

int chosen_build(const struct recording *whole, struct chosen_by by, struct chosen *chosen, struct err *err);
void chosen_clear(struct chosen *chosen);
/* The whole recording becomes its part, and `chosen` empty. */
void chosen_take(struct chosen *chosen, struct recording *whole);

/* Whether any function lies in one of the modules. */
bool chosen_has_module(const struct recording *recording, const char *modules);

#endif
