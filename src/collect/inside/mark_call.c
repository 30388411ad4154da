#include "collect/inside/mark_call.h"

#include <stdio.h>

#include "base/err.h"
#include "python/layouts.h"

static PyObject *(*variable_of_frame)(PyFrameObject *, PyObject *); /* 3.12 and later */
static struct layout layout;                                        /* before */
static PyTypeObject *cell_type;

int mark_call_init(char *why, size_t why_bytes)
{
    struct err err = {0};
    struct memory memory = memory_own();
    if (interpreter.has_monitoring) {
        *(void **)&variable_of_frame = interpreter_find("PyFrame_GetVar");
        if (variable_of_frame)
            return 0;
        snprintf(why, why_bytes, "this CPython does not let sonde see the arguments of calls");
        return -1;
    }
    cell_type = interpreter_find("PyCell_Type");
    uint64_t runtime = (uint64_t)interpreter_find("_PyRuntime");
    if (layouts_read(&memory, runtime, interpreter.version, &layout, &err) == 0 &&
        layouts_check(&layout, &memory, (uint64_t)interpreter.code_type, &err) == 0)
        return 0;
    snprintf(why, why_bytes, "%s", err.text);
    return -1;
}

/* ---- before 3.12 ---- */

/* The place of a name in a tuple of the code's; -1 when it is not there. Their number goes to `count`. */
static Py_ssize_t place_of(PyObject *code, const char *attribute, PyObject *name, Py_ssize_t *count)
{
    PyObject *names = PyObject_GetAttrString(code, attribute);
    Py_ssize_t found = -1;
    *count = names && PyTuple_Check(names) ? PyTuple_Size(names) : 0;
    for (Py_ssize_t i = 0; i < *count && found < 0; i++)
        if (PyUnicode_Compare(PyTuple_GetItem(names, i), name) == 0)
            found = i;
    Py_XDECREF(names);
    return found;
}

static PyObject *slot_of(const struct mark_call *call, Py_ssize_t place)
{
    PyObject **slots = (PyObject **)(void *)((char *)call->frame + layout.frame_locals);
    PyObject *held = slots[place];
    if (held && Py_TYPE(held) == cell_type)
        return PyObject_GetAttrString(held, "cell_contents");
    Py_XINCREF(held);
    return held;
}

/* Up to 3.10 an argument that inner functions use lies in a cell behind the variables. */
static PyObject *argument_of_slots(const struct mark_call *call, PyObject *name)
{
    Py_ssize_t variables, cells;
    Py_ssize_t place = place_of(call->code, "co_varnames", name, &variables);
    PyObject *held = place >= 0 ? slot_of(call, place) : NULL;
    if (held || interpreter.minor > 10)
        return held;
    place = place_of(call->code, "co_cellvars", name, &cells);
    return place >= 0 ? slot_of(call, variables + place) : NULL;
}

/* ---- any version ---- */

PyObject *mark_call_argument(const struct mark_call *call, PyObject *name)
{
    PyFrameObject *frame = call->frame ? NULL : PyEval_GetFrame();
    PyObject *value = call->frame ? argument_of_slots(call, name)
                      : frame     ? variable_of_frame(frame, name)
                                  : NULL;
    PyErr_Clear();
    return value;
}

PyObject *mark_call_first_argument(const struct mark_call *call)
{
    PyObject *count = PyObject_GetAttrString(call->code, "co_argcount");
    PyObject *names = PyObject_GetAttrString(call->code, "co_varnames");
    bool has = count && PyLong_AsLong(count) > 0 && names && PyTuple_Check(names) && PyTuple_Size(names) > 0;
    PyObject *value = has ? mark_call_argument(call, PyTuple_GetItem(names, 0)) : NULL;
    Py_XDECREF(names);
    Py_XDECREF(count);
    PyErr_Clear();
    return value;
}

static PyObject *all_arguments(const struct mark_call *call)
{
    PyObject *names = PyObject_GetAttrString(call->code, "co_varnames"), *found = PyDict_New();
    for (Py_ssize_t i = 0; names && found && i < PyTuple_Size(names); i++) {
        PyObject *value = slot_of(call, i);
        if (value)
            PyDict_SetItem(found, PyTuple_GetItem(names, i), value);
        Py_XDECREF(value);
    }
    Py_XDECREF(names);
    return found;
}

static PyObject *make_stand_in(const struct mark_call *call)
{
    PyObject *types = PyImport_ImportModule("types"), *back = (PyObject *)PyEval_GetFrame();
    PyObject *type = types ? PyObject_GetAttrString(types, "SimpleNamespace") : NULL;
    PyObject *line = PyObject_GetAttrString(call->code, "co_firstlineno"), *locals = all_arguments(call);
    PyObject *globals = *(PyObject **)((char *)call->frame + sizeof(void *));
    PyObject *names = type && line && locals
                          ? Py_BuildValue("{s:O,s:O,s:O,s:O,s:O,s:i}", "f_code", call->code, "f_locals",
                                          locals, "f_globals", globals, "f_back", back ? back : Py_None,
                                          "f_lineno", line, "f_lasti", -1)
                          : NULL;
    PyObject *none = names ? PyTuple_New(0) : NULL;
    PyObject *frame = none ? PyObject_Call(type, none, names) : NULL;
    Py_XDECREF(none);
    Py_XDECREF(names);
    Py_XDECREF(locals);
    Py_XDECREF(line);
    Py_XDECREF(type);
    Py_XDECREF(types);
    PyErr_Clear();
    return frame;
}

PyObject *mark_call_frame(const struct mark_call *call)
{
    if (call->frame && interpreter.minor == 11)
        return make_stand_in(call);
    PyObject *frame = call->frame ? call->frame : (PyObject *)PyEval_GetFrame();
    Py_XINCREF(frame);
    return frame;
}
