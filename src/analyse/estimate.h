/*
 * estimate: call paths guessed from a flat profile, which knows only who called whom.
 *
 * A function's time under one caller is split over the paths to that caller in proportion to the caller's
 * time on each (as SnakeViz and every viewer of .prof files must do). Paths end at a function that is already
 * on them, and where they hold less than ESTIMATE_MIN_SHARE of the run.
 */
#ifndef SONDE_ANALYSE_ESTIMATE_H
#define SONDE_ANALYSE_ESTIMATE_H

#define ESTIMATE_MIN_SHARE 0.0002
#define ESTIMATE_MAX_NODES 200000
#define ESTIMATE_MAX_DEPTH 200

struct err;
struct recording;
struct tree;

/* Adds the recording's flat functions to the tree's nodes below node 0, unlinked (see tree_link). */
int estimate_append(const struct recording *recording, struct tree *tree, struct err *err);

#endif
