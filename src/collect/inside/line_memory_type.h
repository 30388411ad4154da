/*
 * line_memory_type: sonde._inside.LineMemory, what %mprun is made of: the memory of the lines of some functions, while it
 * is enabled. One at a time: it counts in the rows that there are, from 0. The heap is what was allocated since then.
 */
#ifndef SONDE_COLLECT_INSIDE_LINE_MEMORY_TYPE_H
#define SONDE_COLLECT_INSIDE_LINE_MEMORY_TYPE_H

#include "collect/inside/interpreter.h"

/* Puts the type into the module; 0 or -1 with an exception. */
int line_memory_type_add(PyObject *module);

#endif
