/*
 * fold: the call tree with recursion taken out: a call of a function that is already on the stack counts in
 * the node of its outermost call, and so do the calls it makes. Makes recursive programs readable.
 */
#ifndef SONDE_ANALYSE_FOLD_H
#define SONDE_ANALYSE_FOLD_H

#include <stdint.h>

struct err;
struct tree;

/* Replaces the tree. Nodes that took in recursive calls have `recursive` set. */
int fold_recursion(struct tree *tree, uint32_t code_count, struct err *err);

#endif
