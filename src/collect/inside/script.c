#include "collect/inside/script.h"

/* The text of a file, as bytes; NULL with an exception. */
static PyObject *read_file(const char *path)
{
    PyObject *io = PyImport_ImportModule("io");
    PyObject *file = io ? PyObject_CallMethod(io, "open", "ss", path, "rb") : NULL;
    PyObject *text = file ? PyObject_CallMethod(file, "read", NULL) : NULL;
    PyObject *closed = text ? PyObject_CallMethod(file, "close", NULL) : NULL;
    Py_XDECREF(closed);
    Py_XDECREF(file);
    Py_XDECREF(io);
    return text;
}

PyObject *script_run(const char *path, const char *name)
{
    PyObject *text = read_file(path), *builtins = PyImport_ImportModule("builtins");
    PyObject *space = text && builtins ? Py_BuildValue("{s:O,s:s,s:s}", "__builtins__", builtins, "__name__",
                                                       name, "__file__", path)
                                       : NULL;
    const char *source = space ? PyBytes_AsString(text) : NULL;
    PyObject *code = source ? Py_CompileString(source, path, Py_file_input) : NULL;
    PyObject *result = code ? PyEval_EvalCode(code, space, space) : NULL;
    if (!result)
        Py_CLEAR(space);
    Py_XDECREF(result);
    Py_XDECREF(code);
    Py_XDECREF(builtins);
    Py_XDECREF(text);
    return space;
}
