/*
 * functions: one row for each function and one for each caller → callee pair, with cProfile's meaning.
 *
 * primitive_calls: calls made while the function was not already on the stack. total: time with the
 * function on the stack, counted once in recursion. For an edge the same, for the pair (a call is primitive
 * when the same pair is not already on the stack). self of an edge: the callee's self time under it.
 */
#ifndef SONDE_ANALYSE_FUNCTIONS_H
#define SONDE_ANALYSE_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/tree.h"

struct function_row {
    uint32_t code;
    uint64_t calls, primitive_calls; /* 0 in what was sampled */
    uint64_t samples, total_samples; /* with the function innermost, and anywhere on the stack (once) */
    uint64_t self, total;
};

struct edge_row {
    uint32_t caller, callee; /* codes; a caller of 0 = called from nothing recorded, and has no edge */
    uint64_t calls, primitive_calls;
    uint64_t samples, total_samples;
    uint64_t self, total;
};

struct functions {
    struct function_row *rows; /* by code id */
    uint32_t row_count;
    struct edge_row *edges; /* by callee, then caller */
    uint32_t edge_count;
    uint64_t total; /* sum of all self, and of what no function has (the root of the tree) */
    uint64_t whole; /* what shares are of: the same, or the longest function where only lines were timed,
                       which know of callees only how long they took */
    uint64_t total_calls, total_primitive_calls;
    uint64_t total_samples;
    enum measure measure; /* what self and total are */
    bool sampled;         /* there are samples, or blocks of memory, instead of calls */
    bool from_lines;      /* there are only line times: these are their sums, and calls are not known */
};

int functions_build(const struct recording *recording, const struct selection *selection,
                    struct functions *functions, struct err *err);
/* The same, for those who have the selection's exact tree already (one that is not `estimated`). */
int functions_build_from(const struct recording *recording, const struct selection *selection,
                         const struct tree *tree, struct functions *functions, struct err *err);
/* Of functions whose lines were timed and nothing else; `rows` and `total` are there. */
void functions_find_whole(struct functions *functions);
void functions_clear(struct functions *functions);
/* Whether line times are all that there is, or would have been. */
bool functions_are_of_lines(const struct recording *recording);
/* NULL when the code has no row. */
const struct function_row *functions_find(const struct functions *functions, uint32_t code);
/* The order of the edges: by callee, then caller; for qsort. */
int functions_compare_edges(const void *a, const void *b);

#endif
