/*
 * drawing: what a picture of one call graph, or of two compared, consists of: the kept functions and calls,
 * numbered. In a comparison a function or call of both runs is drawn once, and what is kept in either run is
 * drawn. Of `before` and `after` one may be NULL (only in the other run, or no comparison). Pointers lie in
 * the graphs, which must outlive the drawing.
 */
#ifndef SONDE_EXPORT_DRAWING_H
#define SONDE_EXPORT_DRAWING_H

#include <stdint.h>

struct callgraph;
struct callgraph_call;
struct callgraph_function;
struct err;

struct drawing_function {
    const struct callgraph_function *before, *after;
};

struct drawing_call {
    uint32_t caller, callee; /* indexes of the drawing's functions */
    const struct callgraph_call *before, *after;
};

struct drawing {
    struct drawing_function *functions;
    uint32_t function_count;
    struct drawing_call *calls;
    uint32_t call_count;
};

/* `after` may be NULL. */
int drawing_make(const struct callgraph *before, const struct callgraph *after, struct drawing *drawing,
                 struct err *err);
void drawing_clear(struct drawing *drawing);

#endif
