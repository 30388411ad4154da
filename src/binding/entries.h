/*
 * entries: a function table as the list that cProfile's Profile.getstats() gives: one profiler_entry for each
 * function, holding one profiler_subentry for each function that it called. Field names, order and meaning
 * are cProfile's; times are seconds.
 *
 * `code` is a str for C functions. For Python functions it is a stand-in for the code object, which may be
 * gone by the time that one asks: it has co_filename, co_firstlineno, co_name and co_qualname, and two of
 * them are equal when these are. The same function is the same object throughout one list.
 */
#ifndef SONDE_BINDING_ENTRIES_H
#define SONDE_BINDING_ENTRIES_H

#include <Python.h>

struct functions;
struct recording;

/* Owned by the module's state; a zeroed struct is empty. */
struct entries_types {
    PyTypeObject *code, *entry, *subentry;
};

/* 0 or -1 with a Python exception; the types also become attributes of the module. */
int entries_types_init(struct entries_types *types, PyObject *module);
int entries_types_visit(struct entries_types *types, visitproc visit, void *arg);
void entries_types_clear(struct entries_types *types);

/* A new list, or NULL with a Python exception. `calls` is None for a function that has no edges. */
PyObject *entries_list(const struct entries_types *types, const struct recording *recording,
                       const struct functions *functions);

#endif
