#include "collect/inside/finder.h"

#include <string.h>

#include "collect/inside/interpreter.h"

uint64_t finder_watched_key;

static const char *package_folder; /* NULL = not launched by sonde, or installed already */
static bool is_installed;

/* What the program may import, whether it is there or not. */
static struct {
    const char *name, *file;
    bool is_offered;
} modules[] = {
    {"sonde", "__init__.py", true},
    {"tracy", "tracy_stand_in.py", true},
    {"line_profiler", "line_profiler_stand_in.py", false},
    {"memory_profiler", "memory_profiler_stand_in.py", false},
};
enum { LINE_PROFILER = 2, MEMORY_PROFILER = 3, MODULES = 4 };

void finder_init(const char *package)
{
    package_folder = package;
}

void finder_notice(uint64_t key, const char *file, const char *name)
{
    if (package_folder && !is_installed && strcmp(name, "_find_spec") == 0 &&
        strcmp(file, "<frozen importlib._bootstrap>") == 0)
        finder_watched_key = key;
}

/* importlib.util.spec_from_file_location(name, package + "/" + file) */
static PyObject *make_spec(const char *name, const char *file)
{
    PyObject *util = PyImport_ImportModule("importlib.util");
    PyObject *folder = PyUnicode_DecodeFSDefault(package_folder);
    PyObject *path = folder ? PyUnicode_FromFormat("%U/%s", folder, file) : NULL;
    PyObject *spec = NULL;
    if (util && path)
        spec = PyObject_CallMethod(util, "spec_from_file_location", "sO", name, path);
    Py_XDECREF(path);
    Py_XDECREF(folder);
    Py_XDECREF(util);
    return spec;
}

static bool is(PyObject *name, const char *text)
{
    return name && PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, text) == 0;
}

static PyObject *find_spec(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *name = PyTuple_Size(arguments) > 0 ? PyTuple_GetItem(arguments, 0) : NULL;
    for (size_t i = 0; i < MODULES; i++)
        if (modules[i].is_offered && is(name, modules[i].name))
            return make_spec(modules[i].name, modules[i].file);
    Py_RETURN_NONE;
}

/* As importlib.metadata asks for it: pytest learns of its plugins so. */
static PyObject *find_distributions(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *module = PyImport_ImportModule("sonde.distribution");
    PyObject *find = module ? PyObject_GetAttrString(module, "find") : NULL;
    PyObject *found = find ? PyObject_CallObject(find, arguments) : NULL;
    Py_XDECREF(find);
    Py_XDECREF(module);
    return found;
}

static void install(void)
{
    static PyMethodDef methods[] = {
        {"find_spec", find_spec, METH_VARARGS | METH_STATIC, NULL},
        {"find_distributions", find_distributions, METH_VARARGS | METH_STATIC, NULL},
        {NULL, NULL, 0, NULL},
    };
    static PyType_Slot slots[] = {{Py_tp_methods, methods}, {0, NULL}};
    static PyType_Spec spec = {.name = "sonde._inside.finder",
                               .basicsize = sizeof(PyObject),
                               .flags = Py_TPFLAGS_DEFAULT,
                               .slots = slots};
    PyObject *meta_path = is_installed ? NULL : PySys_GetObject("meta_path");
    PyObject *type = meta_path && PyList_Check(meta_path) ? PyType_FromSpec(&spec) : NULL;
    if (type && PyList_Append(meta_path, type) == 0)
        is_installed = true;
    Py_XDECREF(type);
    PyErr_Clear();
}

/* Modules that the finder has, or that ask it for more. */
static bool is_wanted(PyObject *name)
{
    return is(name, "sonde") || is(name, "tracy") || is(name, "pytest");
}

void finder_look(void)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *locals = PyEval_GetLocals();
    if (locals && PyDict_Check(locals) && is_wanted(PyDict_GetItemString(locals, "name"))) {
        finder_watched_key = 0;
        install();
    }
    PyErr_Restore(type, value, traceback);
}

void finder_install(void)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    finder_watched_key = 0;
    if (package_folder)
        install();
    PyErr_Restore(type, value, traceback);
}

void finder_install_for_lines(bool of_memory)
{
    modules[LINE_PROFILER].is_offered = true;
    modules[MEMORY_PROFILER].is_offered = of_memory;
    finder_install();
}

void finder_install_for_marks(void)
{
    modules[MEMORY_PROFILER].is_offered = true;
    finder_install();
}
