/*
 * line_stats: times of lines between Python and the readers, writers and tables. In Python they are a list of functions,
 * each a tuple ((file, first line, name), rows), a row being (line, hits, total_ns) or, where more is known, (line,
 * hits, total_ns, self_ns, min_ns, max_ns).
 *
 * Each function here takes the arguments of the Python function of its name; NULL with an exception when it fails.
 */
#ifndef SONDE_BINDING_LINE_STATS_H
#define SONDE_BINDING_LINE_STATS_H

#include <Python.h>

/* (data, name): the functions of the recording that the bytes are. */
PyObject *line_stats_read(PyObject *module, PyObject *arguments);
/* (functions): the bytes of a .lprof file. */
PyObject *line_stats_lprof(PyObject *module, PyObject *arguments);
/* (functions, sources): the bytes of a .sonde file; `sources` is a dict of file → text. */
PyObject *line_stats_recording(PyObject *module, PyObject *arguments);
/* (functions, sources, unit, stripzeros, details, summarize, color): a str, the functions in the order given. */
PyObject *line_stats_text(PyObject *module, PyObject *arguments);

/* The same of memory, a row being (line, hits, rss_growth, rss, heap_growth, heap), in bytes.
 * (functions, sources, precision): a str, the functions in the order given. */
PyObject *line_stats_memory_text(PyObject *module, PyObject *arguments);

#endif
