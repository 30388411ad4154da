/*
 * timeless: a recording without when: what was measured is added up for each thread and stack, and what happened at single
 * moments is left out. Thousands of sampled ranks fit into one file so.
 *
 * Kept are calls, lines, heap totals, totals of MPI calls and flat profiles as they are; samples become one row for each
 * (thread, stack, state), at the time of the first; of the heap's history the last word counts. Single calls, messages and
 * collectives, regions, marks, the log of allocations and counters are left out. The meta "totals" says so.
 */
#ifndef SONDE_ANALYSE_TIMELESS_H
#define SONDE_ANALYSE_TIMELESS_H

struct err;
struct recording;

/* Changes the recording. */
int timeless_reduce(struct recording *recording, struct err *err);

#endif
