/*
 * marks: functions whose calls are named regions, because a file says so (--marks), not the program. Which rows of the file
 * mean a code object is decided once, when it is first met, and kept with it (code_notes.h); all others are left alone.
 *
 * A region begins when the function does and ends when it returns or is left by an exception; that of a generator or
 * coroutine when it waits, and another begins when it goes on. Several rows may mean one function: their regions lie within
 * each other in the order of the rows.
 */
#ifndef SONDE_COLLECT_INSIDE_MARKS_H
#define SONDE_COLLECT_INSIDE_MARKS_H

#include "collect/inside/code_notes.h"
#include "collect/inside/mark_names.h"

struct agent;

/* What is known of a code object: the rows that mean it. */
struct mark_code {
    uint32_t count; /* 0 = nobody asked for it */
    struct {
        struct mark_name *name;
        uint32_t region; /* of every call; 0 = each has to be asked */
    } marks[];
};

extern Py_ssize_t marks_index;

/* Reads the marks of a session, if it has any, and begins. 0, or -1 with words. */
int marks_start(const struct agent *agent, char *why, size_t why_bytes);

/* NULL = it was never met. */
static inline struct mark_code *marks_find(PyObject *code)
{
    return code_notes_find(code, marks_index);
}
/* Decides; never NULL. */
struct mark_code *marks_look(PyObject *code);

/* Begins the regions of a call and puts their ids, as many as there are marks, into `regions`. An exception that is set
 * stays. */
void marks_begin(struct mark_code *marked, const struct mark_call *call, uint32_t *regions);
void marks_end(const uint32_t *regions, uint32_t count);
/* While a name is made in this thread: what is called for it is not the program's. */
bool marks_are_named(void);

#endif
