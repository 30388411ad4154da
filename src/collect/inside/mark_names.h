/*
 * mark_names: how the ranges of a mark are called: by a template (agent/mark_template.h) or by a function of the user's, which
 * is called as a profile function is: f(frame, "call", None), and gives text.
 *
 * What a template asks for and the call does not have is written "?". A function that fails is told of once, on standard
 * error as an unraisable exception; then the range has the name of the function that was called.
 */
#ifndef SONDE_COLLECT_INSIDE_MARK_NAMES_H
#define SONDE_COLLECT_INSIDE_MARK_NAMES_H

#include "collect/inside/mark_call.h"

#define MARK_NAMES_BYTES 200 /* longer ones are cut */

struct mark_name {
    char *template;     /* NULL = the function */
    PyObject *function; /* NULL = it is still to be found: "module:function" */
    char *path;
    unsigned failures;
};

/* Copies the text. -1 without memory. */
int mark_names_init(struct mark_name *name, char kind, const char *text);
/* Of a callable object, which is kept. */
void mark_names_init_function(struct mark_name *name, PyObject *function);
/* Whether every call of one function has the same. */
bool mark_names_is_fixed(const struct mark_name *name);
/* The id of the region that this call is. 0 when there is none to be had. Called, and returns, without an exception. */
uint32_t mark_names_region(struct mark_name *name, const struct mark_call *call);

#endif
