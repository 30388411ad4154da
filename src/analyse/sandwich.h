/*
 * sandwich: one function, with all that it called below it and all that called it above: two trees that meet in it.
 *
 * Both count the function's outermost calls only, so that time spent in recursion counts once and both have the
 * function's total time. In the tree of callees node 1 is the function; in the tree of callers, too, and the children of
 * a node are who called it. A function that is nowhere gives trees of the root alone.
 */
#ifndef SONDE_ANALYSE_SANDWICH_H
#define SONDE_ANALYSE_SANDWICH_H

#include <stdint.h>

struct err;
struct tree;

int sandwich_callees(const struct tree *tree, uint32_t code, uint32_t code_count, struct tree *callees,
                     struct err *err);
int sandwich_callers(const struct tree *tree, uint32_t code, uint32_t code_count, struct tree *callers,
                     struct err *err);

#endif
