#include "collect/inside/context_place.h"

/* A thread's state is larger than this in every version. */
#define STATE_BYTES 256

size_t context_place_offset;

/* Called inside a context that `self` is: which word of the state is its address now? */
static PyObject *look(PyObject *self, PyObject *unused)
{
    void **words = (void **)PyThreadState_Get();
    size_t found = 0, places = 0;
    (void)unused;
    for (size_t i = 1; i < STATE_BYTES / sizeof *words; i++)
        if (words[i] == (void *)self) {
            found = i * sizeof *words;
            places++;
        }
    context_place_offset = places == 1 ? found : 0;
    Py_RETURN_NONE;
}

int context_place_find(void)
{
    static PyMethodDef method = {"look", look, METH_NOARGS, NULL};
    if (context_place_offset)
        return 0;
    PyObject *module = PyImport_ImportModule("contextvars");
    PyObject *context = module ? PyObject_CallMethod(module, "copy_context", NULL) : NULL;
    PyObject *function = context ? PyCFunction_New(&method, context) : NULL;
    PyObject *done = function ? PyObject_CallMethod(context, "run", "O", function) : NULL;
    Py_XDECREF(module);
    Py_XDECREF(context);
    Py_XDECREF(function);
    Py_XDECREF(done);
    return done ? 0 : -1;
}
