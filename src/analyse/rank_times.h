/*
 * rank_times: lays all times of a run on the clock of its first rank (analyse/rank_clocks.h), so that what happened at the same time
 * on several hosts is seen at the same time.
 */
#ifndef SONDE_ANALYSE_RANK_TIMES_H
#define SONDE_ANALYSE_RANK_TIMES_H

struct err;
struct recording;

/* Where all clocks are one already, as on one host, and in a recording of one rank nothing is touched. Ranks whose clock nothing relates to the others keep
 * their times. */
int rank_times_align(struct recording *recording, struct err *err);

#endif
