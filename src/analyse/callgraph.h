/*
 * callgraph: who calls whom and how much time goes that way, cut down to the part worth drawing.
 *
 * Functions are those of functions.h, with what is the same function to a reader (file, line and name) merged;
 * hottest first. Calls are sorted by caller, then callee. Nothing is removed by pruning: `kept` says what is
 * still in the picture, and a kept call always joins two kept functions. Shares of self time are of the sum of
 * self times; shares of total time are of that sum or the largest total, whichever is larger (gprof2dot's
 * rule: a .prof of a program that recursed may have both).
 *
 * The graph owns its names; `file` points into the recording, which must outlive it.
 */
#ifndef SONDE_ANALYSE_CALLGRAPH_H
#define SONDE_ANALYSE_CALLGRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyse/measure.h"

struct err;
struct recording;
struct selection;

struct callgraph_function {
    char *name;       /* "module:line:function", with the function's class and the folder of an __init__ */
    char *short_name; /* the same with the bare function name, as .prof files have it; NULL = no difference */
    size_t function_at; /* where the function begins in both */
    const char *file;   /* as recorded; "~" = a C function */
    uint32_t line;
    uint32_t code;  /* one of its codes in the recording */
    uint32_t cycle; /* index into cycles; 0 = in none */
    uint64_t calls, primitive_calls;
    uint64_t self, total;
    double self_share, total_share;
    double weight; /* 0..1: how hot it is drawn */
    bool kept;
};

struct callgraph_call {
    uint32_t caller, callee; /* indexes of functions */
    uint64_t calls, primitive_calls;
    uint64_t total; /* of the callee when called from the caller */
    double total_share;
    bool kept;
};

/* Functions that call each other in a circle. Their totals overlap, so the time of the whole is worth knowing:
 * self time of the members plus what they spent in functions outside. */
struct callgraph_cycle {
    uint32_t function_count;
    uint64_t total;
    double total_share;
};

struct callgraph {
    struct callgraph_function *functions;
    uint32_t function_count;
    struct callgraph_call *calls;
    uint32_t call_count;
    uint32_t *first_call;           /* calls of f: first_call[f] .. first_call[f + 1] - 1 */
    struct callgraph_cycle *cycles; /* [0] = none */
    uint32_t cycle_count;           /* with [0] */
    enum measure measure;           /* what self and total are */
    uint64_t total;                 /* what total shares are of */
    uint64_t self_total;
    uint64_t total_calls;
};

int callgraph_build(const struct recording *recording, const struct selection *selection,
                    struct callgraph *graph, struct err *err);
void callgraph_clear(struct callgraph *graph);

/* Weights from self times, the largest kept one being 1, instead of from total times. */
void callgraph_weigh_by_self(struct callgraph *graph);

uint32_t callgraph_kept_functions(const struct callgraph *graph);
uint32_t callgraph_kept_calls(const struct callgraph *graph);

#endif
