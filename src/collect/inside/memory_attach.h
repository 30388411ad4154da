/*
 * memory_attach: this process, which runs already, has been asked to have its allocations counted for a recorder, and to
 * stop that (recorder/invitation.h). The functions of the module that the scripts call; to be asked twice does no harm.
 */
#ifndef SONDE_COLLECT_INSIDE_MEMORY_ATTACH_H
#define SONDE_COLLECT_INSIDE_MEMORY_ATTACH_H

#include "collect/inside/interpreter.h"

/* attach_memory(settings of the session); RuntimeError with words. */
PyObject *memory_attach_begin(PyObject *module, PyObject *settings);
/* detach_memory() */
PyObject *memory_attach_end(PyObject *module, PyObject *unused);

#endif
