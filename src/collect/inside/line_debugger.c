#include "collect/inside/line_debugger.h"

#include "collect/inside/interpreter.h"
#include "collect/inside/line_memory.h"

/* sonde.memory_limit.stop(frame, bytes, limit). It stops once: the debugger is in charge from then on. */
int line_debugger_stop(void)
{
    uint64_t limit_bytes = line_memory.limit_bytes;
    line_memory.limit_bytes = 0;
    line_memory.is_over_limit = false;
    PyObject *module = PyImport_ImportModule("sonde.memory_limit");
    PyObject *frame = (PyObject *)PyEval_GetFrame();
    PyObject *done = NULL;
    if (module && frame)
        done = PyObject_CallMethod(module, "stop", "OKK", frame, (unsigned long long)line_memory.rss_bytes,
                                   (unsigned long long)limit_bytes);
    Py_XDECREF(module);
    Py_XDECREF(done);
    return done || !PyErr_Occurred() ? 0 : -1;
}
