/*
 * rank_stories: which functions tell that the ranks of a run do unequal work, the one that costs most first.
 *
 * A function is worth telling of when what its slowest rank takes above the mean, outside MPI, is
 *   at least RANK_STORIES_SHARE of what the busiest rank did in all,
 *   at least RANK_STORIES_IMBALANCE as an imbalance, and
 *   of samples, more than chance makes of equal work: n samples are uncertain by √n, and the largest of N such numbers
 *   lies about √(2 ln N) of those above the mean; two more are asked for, so that one run in forty or so is misjudged.
 *
 * A caller and what it calls are spread over the ranks alike and tell the same story: where the spread of one differs from
 * that of the other by less than RANK_STORIES_LIKE of its square, the innermost function of the user's own is named. What
 * is the sum of other stories of the user's own code is not told again, nor what a library does for one of them. Beside
 * stories of the user's own code one of a library's is told at most.
 */
#ifndef SONDE_ANALYSE_RANK_STORIES_H
#define SONDE_ANALYSE_RANK_STORIES_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/rank_stats.h"

#define RANK_STORIES_SHARE     0.02
#define RANK_STORIES_IMBALANCE 0.05
#define RANK_STORIES_LIKE      0.10
#define RANK_STORIES_MAX       5

struct rank_story {
    uint32_t code;           /* of the table's names */
    struct rank_stats stats; /* RANK_USEFUL of it */
    bool is_absence;         /* mostly because some ranks do nothing of it */
};

struct rank_stories {
    struct rank_story rows[RANK_STORIES_MAX];
    uint32_t count;
};

/* `busiest`: what the busiest rank did in all. */
int rank_stories_find(const struct rank_table *table, double busiest, struct rank_stories *stories,
                      struct err *err);
/* By how much the most of equal ranks lies above their mean of so much by chance, and a little more; 0 = nothing is left
 * to chance. */
double rank_stories_noise(const struct rank_table *table, double mean);

#endif
