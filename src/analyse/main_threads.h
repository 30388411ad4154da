/*
 * main_threads: of each node of a call tree, the thread that spent the most time, or memory, in it.
 *
 * Only the busiest threads of a recording are told apart: nobody tells more than MAIN_THREADS_MAX colours apart. Which
 * they are does not depend on a range or a chosen thread, so that a thread keeps its colour. A zeroed struct is empty;
 * it owns its arrays and borrows the tree.
 */
#ifndef SONDE_ANALYSE_MAIN_THREADS_H
#define SONDE_ANALYSE_MAIN_THREADS_H

#include <stdint.h>

#include "base/map.h"

struct err;
struct recording;
struct tree;

#define MAIN_THREADS_MAX 8

/* Ids of the busiest threads, the busiest first, into `ids`; how many there are, or -1 when memory ran out. */
int main_threads_busiest(const struct recording *recording, uint32_t ids[MAIN_THREADS_MAX], struct err *err);

struct main_threads {
    const struct tree *tree;
    struct map children; /* (node, code) → its child for that code */
    uint32_t *thread;    /* by node; 0 = none of those that were added */
    uint64_t *amount;    /* of that thread in that node */
};

int main_threads_init(struct main_threads *main, const struct tree *tree, struct err *err);
/* `part` is made as the tree was, of one thread alone. */
int main_threads_add(struct main_threads *main, uint32_t thread, const struct tree *part, struct err *err);
void main_threads_clear(struct main_threads *main);

#endif
