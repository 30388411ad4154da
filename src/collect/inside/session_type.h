/* session_type: the Python type `_inside.Session`: one recording in this process, under the program's control. */
#ifndef SONDE_COLLECT_INSIDE_SESSION_TYPE_H
#define SONDE_COLLECT_INSIDE_SESSION_TYPE_H

#include "collect/inside/interpreter.h"

/* Adds the type to the module. 0, or -1 with an exception. */
int session_type_add(PyObject *module);

#endif
