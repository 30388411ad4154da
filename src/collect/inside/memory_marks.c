#include "collect/inside/memory_marks.h"

#include "collect/inside/finder.h"
#include "collect/inside/interpreter.h"

/* A new reference to the object that does the work. */
static PyObject *marker(void)
{
    PyObject *module = PyImport_ImportModule("sonde.memory_marks");
    PyObject *found = module ? PyObject_GetAttrString(module, "marker") : NULL;
    Py_XDECREF(module);
    return found;
}

static PyObject *call(PyObject *self, PyObject *arguments, PyObject *names)
{
    (void)self;
    PyObject *works = marker();
    PyObject *result = works ? PyObject_Call(works, arguments, names) : NULL;
    Py_XDECREF(works);
    return result;
}

static PyObject *get(PyObject *self, PyObject *name)
{
    PyObject *found = PyObject_GenericGetAttr(self, name);
    if (found || !PyErr_ExceptionMatches(PyExc_AttributeError))
        return found;
    PyErr_Clear();
    PyObject *works = marker();
    found = works ? PyObject_GetAttr(works, name) : NULL;
    Py_XDECREF(works);
    return found;
}

static PyObject *new_profile(void)
{
    static PyType_Slot slots[] = {
        {Py_tp_call, call},
        {Py_tp_getattro, get},
        {Py_tp_doc, "Marks the calls of what it decorates in the memory over time that sonde records."},
        {0, NULL},
    };
    /* Programs that tell line_profiler's object from memory_profiler's look at the name of its module. */
    static PyType_Spec spec = {.name = "memory_profiler.LineProfiler",
                               .basicsize = sizeof(PyObject),
                               .flags = Py_TPFLAGS_DEFAULT,
                               .slots = slots};
    PyObject *type = PyType_FromSpec(&spec);
    PyObject *profile = type ? PyObject_CallObject(type, NULL) : NULL;
    Py_XDECREF(type);
    return profile;
}

void memory_marks_install(void)
{
    PyObject *builtins = PyImport_ImportModule("builtins");
    PyObject *profile = builtins ? new_profile() : NULL;
    if (profile)
        PyObject_SetAttrString(builtins, "profile", profile);
    Py_XDECREF(profile);
    Py_XDECREF(builtins);
    PyErr_Clear();
    finder_install_for_marks();
}
