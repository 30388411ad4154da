#include "collect/inside/line_peers.h"

#include <string.h>

#include "collect/inside/line_clock.h"

static bool is_done, is_there;

static bool ends_with(PyObject *text, const char *ending)
{
    PyObject *bytes = text && PyUnicode_Check(text) ? interpreter_utf8(text) : NULL;
    size_t size = bytes ? (size_t)PyBytes_Size(bytes) : 0, ending_size = strlen(ending);
    bool ends = size >= ending_size && strcmp(PyBytes_AsString(bytes) + size - ending_size, ending) == 0;
    Py_XDECREF(bytes);
    return ends;
}

static bool has_text(PyObject *object, const char *name, const char *ending)
{
    PyObject *text = interpreter_attribute(object, name);
    bool has = ends_with(text, ending);
    Py_XDECREF(text);
    PyErr_Clear();
    return has;
}

bool line_peers_have(PyObject *code)
{
    return has_text(code, "co_filename", "/line_profiler/explicit_profiler.py") ||
           (line_clock.memory && has_text(code, "co_filename", "/memory_profiler.py"));
}

bool line_peers_are_awaited(void)
{
    return is_there && !is_done;
}

/* What of the decorator a program may call first: with it comes the decision whether it does anything. */
static bool is_decorator(PyObject *code)
{
    static const char *const names[] = {"__call__", "enable", "_implicit_setup"};
    if (!has_text(code, "co_filename", "/line_profiler/explicit_profiler.py"))
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (has_text(code, "co_name", names[i]))
            return true;
    return false;
}

/* line_profiler.explicit_profiler.profile._kernprof_overwrite(builtins.profile) */
static void hand_over(void)
{
    PyObject *modules = PyImport_GetModuleDict();
    PyObject *module = modules ? PyDict_GetItemString(modules, "line_profiler.explicit_profiler") : NULL;
    PyObject *builtins = PyImport_ImportModule("builtins");
    PyObject *theirs = module ? interpreter_attribute(module, "profile") : NULL;
    PyObject *ours = builtins && theirs ? interpreter_attribute(builtins, "profile") : NULL;
    PyObject *done = ours ? PyObject_CallMethod(theirs, "_kernprof_overwrite", "O", ours) : NULL;
    Py_XDECREF(done);
    Py_XDECREF(ours);
    Py_XDECREF(theirs);
    Py_XDECREF(builtins);
}

/* ---- memory_profiler ---- */

static PyObject *give_ours(PyObject *self, PyObject *arguments, PyObject *names)
{
    (void)self, (void)arguments, (void)names;
    PyObject *builtins = PyImport_ImportModule("builtins");
    PyObject *ours = builtins ? interpreter_attribute(builtins, "profile") : NULL;
    Py_XDECREF(builtins);
    return ours;
}

static PyObject *print_nothing(PyObject *self, PyObject *arguments, PyObject *names)
{
    (void)self, (void)arguments, (void)names;
    Py_RETURN_NONE;
}

static void put(PyObject *module, PyMethodDef *method)
{
    PyObject *function = PyCFunction_New(method, NULL);
    if (function)
        PyObject_SetAttrString(module, method->ml_name, function);
    Py_XDECREF(function);
}

/* memory_profiler.profile(function) is about to run: what it makes its wrapper of is ours from now on. */
static void hand_over_memory(void)
{
    static PyMethodDef methods[] = {
        {"LineProfiler", (PyCFunction)(void (*)(void))give_ours, METH_VARARGS | METH_KEYWORDS, NULL},
        {"show_results", (PyCFunction)(void (*)(void))print_nothing, METH_VARARGS | METH_KEYWORDS, NULL},
    };
    PyObject *modules = PyImport_GetModuleDict();
    PyObject *module = modules ? PyDict_GetItemString(modules, "memory_profiler") : NULL;
    for (size_t i = 0; module && i < sizeof methods / sizeof *methods; i++)
        put(module, &methods[i]);
}

static bool is_memory_decorator(PyObject *code)
{
    return line_clock.memory && has_text(code, "co_filename", "/memory_profiler.py") &&
           has_text(code, "co_name", "profile");
}

void line_peers_look(PyObject *code)
{
    if (is_done)
        return;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (is_decorator(code)) {
        is_done = true;
        hand_over();
    } else if (is_memory_decorator(code)) {
        is_done = true;
        hand_over_memory();
    } else if (line_peers_have(code)) {
        is_there = true;
    }
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
}
