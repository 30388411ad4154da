#include "collect/inside/finder.h"

#include <string.h>

#include "collect/inside/interpreter.h"

uint64_t finder_watched_key;

static const char *package_folder; /* NULL = not launched by sonde, or installed already */

void finder_init(const char *package)
{
    package_folder = package;
}

void finder_notice(uint64_t key, const char *file, const char *name)
{
    if (package_folder && strcmp(name, "_find_spec") == 0 &&
        strcmp(file, "<frozen importlib._bootstrap>") == 0)
        finder_watched_key = key;
}

/* importlib.util.spec_from_file_location("sonde", package + "/__init__.py") */
static PyObject *make_spec(void)
{
    PyObject *util = PyImport_ImportModule("importlib.util");
    PyObject *folder = PyUnicode_DecodeFSDefault(package_folder);
    PyObject *path = folder ? PyUnicode_FromFormat("%U/__init__.py", folder) : NULL;
    PyObject *spec = NULL;
    if (util && path)
        spec = PyObject_CallMethod(util, "spec_from_file_location", "sO", "sonde", path);
    Py_XDECREF(path);
    Py_XDECREF(folder);
    Py_XDECREF(util);
    return spec;
}

static bool is_sonde(PyObject *name)
{
    return name && PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, "sonde") == 0;
}

static PyObject *find_spec(PyObject *self, PyObject *arguments)
{
    (void)self;
    if (PyTuple_Size(arguments) > 0 && is_sonde(PyTuple_GetItem(arguments, 0)))
        return make_spec();
    Py_RETURN_NONE;
}

static void install(void)
{
    static PyMethodDef methods[] = {
        {"find_spec", find_spec, METH_VARARGS | METH_STATIC, NULL},
        {NULL, NULL, 0, NULL},
    };
    static PyType_Slot slots[] = {{Py_tp_methods, methods}, {0, NULL}};
    static PyType_Spec spec = {.name = "sonde._inside.finder",
                               .basicsize = sizeof(PyObject),
                               .flags = Py_TPFLAGS_DEFAULT,
                               .slots = slots};
    PyObject *meta_path = PySys_GetObject("meta_path");
    PyObject *type = meta_path && PyList_Check(meta_path) ? PyType_FromSpec(&spec) : NULL;
    if (type)
        PyList_Append(meta_path, type);
    Py_XDECREF(type);
}

void finder_look(void)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *locals = PyEval_GetLocals();
    if (locals && PyDict_Check(locals) && is_sonde(PyDict_GetItemString(locals, "name"))) {
        finder_watched_key = 0;
        install();
    }
    PyErr_Restore(type, value, traceback);
}
