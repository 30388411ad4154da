/*
 * getstats: a function table as the list that cProfile's Profile.getstats() gives: one profiler_entry for each
 * function, holding one profiler_subentry for each function that it called. Field names, order and meaning
 * are cProfile's; times are seconds.
 *
 * `code` is a str for C functions. For Python functions it is a stand-in for the code object, which may be
 * gone by the time that one asks: it has co_filename, co_firstlineno, co_name and co_qualname, and two of
 * them are equal when these are. The same function is the same object throughout one list.
 */
#ifndef SONDE_BINDING_GETSTATS_H
#define SONDE_BINDING_GETSTATS_H

#include <Python.h>

struct functions;
struct recording;

/* Owned by the module's state; a zeroed struct is empty. */
struct getstats_types {
    PyTypeObject *code, *entry, *subentry;
};

/* 0 or -1 with a Python exception; the types also become attributes of the module. */
int getstats_types_init(struct getstats_types *types, PyObject *module);
int getstats_types_visit(struct getstats_types *types, visitproc visit, void *arg);
void getstats_types_clear(struct getstats_types *types);

/* A new list, or NULL with a Python exception. `calls` is None for a function that has no edges. */
PyObject *getstats_list(const struct getstats_types *types, const struct recording *recording,
                        const struct functions *functions);

#endif
