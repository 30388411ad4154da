#include "collect/inside/finder.h"

#include <stdio.h>

#include "collect/inside/interpreter.h"

static PyObject *package_path;

/* importlib.util.spec_from_file_location("sonde", package + "/__init__.py") */
static PyObject *make_spec(void)
{
    PyObject *util = PyImport_ImportModule("importlib.util");
    PyObject *path = PyUnicode_FromFormat("%U/__init__.py", package_path);
    PyObject *spec =
        util && path ? PyObject_CallMethod(util, "spec_from_file_location", "sO", "sonde", path) : NULL;
    Py_XDECREF(path);
    Py_XDECREF(util);
    return spec;
}

static PyObject *find_spec(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *name = PyTuple_Size(arguments) > 0 ? PyTuple_GetItem(arguments, 0) : NULL;
    if (name && PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, "sonde") == 0)
        return make_spec();
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"find_spec", find_spec, METH_VARARGS | METH_STATIC, NULL},
    {NULL, NULL, 0, NULL},
};

void finder_install(const char *package)
{
    static PyType_Slot slots[] = {{Py_tp_methods, methods}, {0, NULL}};
    static PyType_Spec spec = {.name = "sonde._inside.finder",
                               .basicsize = sizeof(PyObject),
                               .flags = Py_TPFLAGS_DEFAULT,
                               .slots = slots};
    PyObject *meta_path = PySys_GetObject("meta_path");
    package_path = PyUnicode_DecodeFSDefault(package);
    PyObject *type = package_path && meta_path && PyList_Check(meta_path) ? PyType_FromSpec(&spec) : NULL;
    if (type)
        PyList_Append(meta_path, type);
    Py_XDECREF(type);
    PyErr_Clear();
}
