/*
 * rank_part: some ranks of a run, chosen by a list such as "0,7,100-115" (base/rank_list.h): as a recording that knows
 * nothing of the others, or as the threads that are theirs.
 */
#ifndef SONDE_ANALYSE_RANK_PART_H
#define SONDE_ANALYSE_RANK_PART_H

#include <stdbool.h>

struct err;
struct recording;

/* Leaves only the processes of these ranks and what they did; ids of processes, threads, counters and communicators
 * change. What belongs to no process stays, but for flat profiles of other ranks. -1 with words when the list is none, or
 * names no rank of the recording; the recording is as it was then. */
int rank_part_keep(struct recording *recording, const char *list, struct err *err);
/* By thread whether it is of one of these ranks. Owned: free it. NULL with err. */
bool *rank_part_threads_new(const struct recording *recording, const char *list, struct err *err);

#endif
