/*
 * heap_move: gives the heap rows of a recording other nodes, as when addresses become functions or frames are left out.
 *
 * Several stacks may become one. A row is the state of its stack at a time, so the rows of such stacks must be added up
 * as they change, and not be taken for each other's history.
 */
#ifndef SONDE_ANALYSE_HEAP_MOVE_H
#define SONDE_ANALYSE_HEAP_MOVE_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct heap_row;

/* `rows` are in the order of recording.heap, and are again afterwards. `of_node`: by old node, the new one. `mark` (may be
 * NULL): by row; those marked, which are all of a stack's or none, get the allocator HEAP_FREE, which no other row has. */
int heap_move_rows(struct heap_row *rows, uint32_t count, const uint32_t *of_node, const bool *mark,
                   struct err *err);

#endif
