/*
 * code_notes: what somebody knows of a code object, kept with the object itself (co_extra), so that it is found in no time
 * and goes when the object goes. Each who keeps notes has an index of his own.
 */
#ifndef SONDE_COLLECT_INSIDE_CODE_NOTES_H
#define SONDE_COLLECT_INSIDE_CODE_NOTES_H

#include "collect/inside/interpreter.h"

/* Where a code object keeps what others know of it. */
struct code_notes_table {
    Py_ssize_t count;
    void *notes[];
};
extern size_t code_notes_offset; /* of the table's address in a code object */

/* A new index; `forget` is told of a note when its code object goes. -1 with words. */
Py_ssize_t code_notes_open(freefunc forget, char *why, size_t why_bytes);
/* 0, or -1 with an exception. */
int code_notes_set(PyObject *code, Py_ssize_t index, void *note);

/* NULL = none was made. */
static inline void *code_notes_find(PyObject *code, Py_ssize_t index)
{
    const struct code_notes_table *table =
        *(const struct code_notes_table **)((char *)code + code_notes_offset);
    return table && table->count > index ? table->notes[index] : NULL;
}

#endif
