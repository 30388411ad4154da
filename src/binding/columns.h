/*
 * columns: a recording as Python objects: each table a dict of columns, each column a memoryview of machine
 * integers, which numpy takes as it is (numpy.asarray(recording["calls"]["self_ns"])) and which needs no
 * numpy to be read. Ids in the columns are places in the other tables, as in store/recording.h.
 */
#ifndef SONDE_BINDING_COLUMNS_H
#define SONDE_BINDING_COLUMNS_H

#include <Python.h>
#include <stdint.h>

struct functions;
struct recording;

/* A string of the recording; bytes that are not UTF-8 come as os.fsdecode gives them. */
PyObject *columns_text(const struct recording *recording, uint32_t string);

/* A new dict of everything, with the function table; NULL with a Python exception. */
PyObject *columns_recording(const struct recording *recording, const struct functions *functions);

#endif
