/* script: a Python file that is run before the program, in a namespace of its own. */
#ifndef SONDE_COLLECT_INSIDE_SCRIPT_H
#define SONDE_COLLECT_INSIDE_SCRIPT_H

#include "collect/inside/interpreter.h"

/* Its namespace, a new reference; NULL with an exception. `name` is its __name__. */
PyObject *script_run(const char *path, const char *name);

#endif
