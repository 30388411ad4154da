#include "collect/inside/thread_start.h"

#include "collect/inside/interpreter.h"

static void (*to_call)(void);
static void (*write_unraisable)(const char *message,
                                PyObject *object); /* the interpreter's; NULL = has none */
static PyObject *real_start;                       /* the interpreter's own start_new_thread */

/* An exception that ends a thread is reported with the program's function, as if we were not between. */
static PyObject *report(PyObject *function)
{
    if (!write_unraisable || PyErr_ExceptionMatches(PyExc_SystemExit))
        return NULL;
    write_unraisable("in thread started by", function);
    Py_RETURN_NONE;
}

/* Runs first in a new thread: start_new_thread(boot, ((function, arguments[, names]),)). */
static PyObject *boot(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *call = PyTuple_GetItem(arguments, 0);
    if (!call)
        return NULL;
    to_call();
    PyObject *names = PyTuple_Size(call) > 2 ? PyTuple_GetItem(call, 2) : NULL;
    PyObject *result = PyObject_Call(PyTuple_GetItem(call, 0), PyTuple_GetItem(call, 1), names);
    return result ? result : report(PyTuple_GetItem(call, 0));
}

static PyMethodDef boot_method = {"boot", boot, METH_VARARGS, NULL};

static bool is_a_plain_start(PyObject *arguments)
{
    Py_ssize_t size = PyTuple_Size(arguments);
    return (size == 2 || size == 3) && PyCallable_Check(PyTuple_GetItem(arguments, 0)) &&
           PyTuple_Check(PyTuple_GetItem(arguments, 1)) &&
           (size == 2 || PyDict_Check(PyTuple_GetItem(arguments, 2)));
}

/* Anything unusual goes to the interpreter's own function as it is, so that its errors are its own. */
static PyObject *start_new_thread(PyObject *self, PyObject *arguments)
{
    (void)self;
    if (!is_a_plain_start(arguments))
        return PyObject_CallObject(real_start, arguments);
    PyObject *booter = PyCFunction_New(&boot_method, NULL);
    PyObject *inner = booter ? PyTuple_Pack(1, arguments) : NULL;
    PyObject *outer = inner ? PyTuple_Pack(2, booter, inner) : NULL;
    PyObject *result = outer ? PyObject_CallObject(real_start, outer) : NULL;
    Py_XDECREF(outer);
    Py_XDECREF(inner);
    Py_XDECREF(booter);
    return result;
}

static PyMethodDef start_method = {"start_new_thread", start_new_thread, METH_VARARGS,
                                   "start_new_thread(function, args[, kwargs])"};

static int replace_in(PyObject *module, const char *name, PyObject *function)
{
    PyObject *present = module ? PyObject_GetAttrString(module, name) : NULL;
    int result = present == real_start ? PyObject_SetAttrString(module, name, function) : 0;
    Py_XDECREF(present);
    PyErr_Clear();
    return result;
}

static int replace_start(void)
{
    PyObject *module = PyImport_ImportModule("_thread");
    PyObject *name = PyUnicode_FromString("_thread");
    real_start = module ? PyObject_GetAttrString(module, "start_new_thread") : NULL;
    PyObject *function = real_start ? PyCFunction_NewEx(&start_method, module, name) : NULL;
    int result = function ? 0 : -1;
    if (function) {
        replace_in(module, "start_new_thread", function);
        replace_in(module, "start_new", function);
        /* threading keeps a copy, if it has been imported already */
        PyObject *modules = PyImport_GetModuleDict();
        PyObject *threading = modules ? PyDict_GetItemString(modules, "threading") : NULL;
        replace_in(threading, "_start_new_thread", function);
    }
    Py_XDECREF(function);
    Py_XDECREF(name);
    Py_XDECREF(module);
    PyErr_Clear();
    return result;
}

int thread_start_call(void (*function)(void))
{
    to_call = function;
    *(void **)&write_unraisable = interpreter_find("_PyErr_WriteUnraisableMsg");
    return real_start ? 0 : replace_start();
}
