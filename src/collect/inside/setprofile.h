/*
 * setprofile: the program's own sys.setprofile and threading.setprofile_all_threads. A function that is set so must
 * be told of what it would be told without us, but CPython tells it also of the end of C functions that began before:
 * our own events have prepared those calls. (The first of them is sys.setprofile itself.) They are kept from it.
 *
 * To know the moment when a function has been set, we stand in the method table of the module sys, where the
 * program does not look: sys.setprofile stays the object that it is.
 */
#ifndef SONDE_COLLECT_INSIDE_SETPROFILE_H
#define SONDE_COLLECT_INSIDE_SETPROFILE_H

#include "collect/inside/interpreter.h"

/* As in CPython's own header, which the limited API leaves out. */
enum {
    EVENT_CALL = 0,
    EVENT_LINE = 2,
    EVENT_RETURN = 3,
    EVENT_C_CALL = 4,
    EVENT_C_EXCEPTION = 5,
    EVENT_C_RETURN = 6
};

/* From now on, once per process. */
void setprofile_watch(void);

/* Whether an event of the calling thread is for the program's function: ends of C functions only after their
 * beginnings. */
bool setprofile_wants(int what);
/* The calling thread's function is new: nothing has begun for it. */
void setprofile_begin(void);

#endif
