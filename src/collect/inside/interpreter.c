#include "collect/inside/interpreter.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct interpreter interpreter;

void *interpreter_find(const char *name)
{
    return dlsym(RTLD_DEFAULT, name);
}

static uint32_t running_version(void)
{
    /* Py_Version is data and exists from 3.11 on; the text exists everywhere: "3.9.18 (main, ...". */
    unsigned major = 0, minor = 0, micro = 0;
    sscanf(Py_GetVersion(), "%u.%u.%u", &major, &minor, &micro);
    return major << 24 | minor << 16 | micro << 8 | 0xf0;
}

static void find_functions(void)
{
    interpreter.version = running_version();
    interpreter.minor = (int)(interpreter.version >> 16 & 0xff);
    interpreter.has_monitoring = interpreter.minor >= 12;
    interpreter.function_type = interpreter_find("PyFunction_Type");
    interpreter.code_type = interpreter_find("PyCode_Type");
    interpreter.method_descriptor_type = interpreter_find("PyMethodDescr_Type");
    *(void **)&interpreter.frame_code = interpreter_find("PyFrame_GetCode");
    *(void **)&interpreter.frame_back = interpreter_find("PyFrame_GetBack");
    *(void **)&interpreter.type_lookup = interpreter_find("_PyType_Lookup");
    *(void **)&interpreter.vectorcall_call = interpreter_find("PyVectorcall_Call");
    *(void **)&interpreter.newest = interpreter_find("PyInterpreterState_Head");
    *(void **)&interpreter.older = interpreter_find("PyInterpreterState_Next");
    *(void **)&interpreter.set_profile_of = interpreter_find("_PyEval_SetProfile");
    *(void **)&interpreter.first_thread = interpreter_find("PyInterpreterState_ThreadHead");
    *(void **)&interpreter.next_thread = interpreter_find("PyThreadState_Next");
    *(void **)&interpreter.set_evaluate = interpreter_find("_PyInterpreterState_SetEvalFrameFunc");
    *(void **)&interpreter.evaluate_default = interpreter_find("_PyEval_EvalFrameDefault");
}

static bool functions_are_there(void)
{
    if (!interpreter.function_type || !interpreter.code_type || !interpreter.method_descriptor_type ||
        !interpreter.frame_code || !interpreter.vectorcall_call)
        return false;
    return interpreter.has_monitoring ||
           (interpreter.set_profile_of && interpreter.first_thread && interpreter.next_thread);
}

/* The key of len() and of list.append must lead to method table entries with just these names. */
static bool layouts_agree(void)
{
    PyObject *builtins = PyImport_ImportModule("builtins");
    PyObject *len = builtins ? PyObject_GetAttrString(builtins, "len") : NULL;
    PyObject *append = PyObject_GetAttrString((PyObject *)&PyList_Type, "append");
    bool agree = len && append && PyCFunction_Check(len) &&
                 strcmp(*(const char **)interpreter_builtin_key(len), "len") == 0 &&
                 Py_TYPE(append) == interpreter.method_descriptor_type &&
                 strcmp(*(const char **)interpreter_descriptor_key(append), "append") == 0;
    Py_XDECREF(append);
    Py_XDECREF(len);
    Py_XDECREF(builtins);
    PyErr_Clear();
    return agree;
}

/* Only 3.11 is asked for the flags of a code object (interpreter_only_makes_generator). */
static bool flags_agree(void)
{
    if (interpreter.minor != 11)
        return true;
    PyObject *code = Py_CompileString("lambda: (yield)", "sonde", Py_eval_input);
    PyObject *consts = code ? PyObject_GetAttrString(code, "co_consts") : NULL;
    PyObject *inner = consts ? PySequence_GetItem(consts, 0) : NULL;
    PyObject *value = inner ? PyObject_GetAttrString(inner, "co_flags") : NULL;
    bool agree = value && PyLong_AsLong(value) == *(int *)((char *)inner + 6 * sizeof(void *));
    Py_XDECREF(value);
    Py_XDECREF(inner);
    Py_XDECREF(consts);
    Py_XDECREF(code);
    PyErr_Clear();
    return agree;
}

int interpreter_init(char *why, size_t why_bytes)
{
    if (interpreter.version)
        return 0;
    const char *reason = NULL;
    find_functions();
    if (strstr(Py_GetVersion(), "free-threading"))
        reason = "it is a free-threaded build, which sonde cannot trace yet; use the ordinary build";
    else if (interpreter.version < 0x03090000 || interpreter.version >> 24 != 3)
        reason = "it is older than CPython 3.9; sonde traces 3.9 to 3.15";
    else if (!functions_are_there())
        reason = "this CPython lacks functions that sonde needs";
    else if (!layouts_agree() || !flags_agree())
        reason = "this CPython keeps its functions in a form that sonde does not know";
    if (!reason)
        return 0;
    interpreter.version = 0;
    snprintf(why, why_bytes, "%s", reason);
    return -1;
}

PyObject *interpreter_attribute(PyObject *object, const char *name)
{
    PyObject *text = PyUnicode_InternFromString(name);
    PyObject *value = text ? PyObject_GetAttr(object, text) : NULL;
    Py_XDECREF(text);
    return value;
}

PyObject *interpreter_utf8(PyObject *text)
{
    PyObject *bytes = text ? PyUnicode_AsEncodedString(text, "utf-8", "surrogateescape") : NULL;
    if (!bytes)
        PyErr_Clear();
    return bytes;
}

PyObject *interpreter_attribute_utf8(PyObject *object, const char *name)
{
    PyObject *value = interpreter_attribute(object, name);
    if (!value)
        PyErr_Clear();
    PyObject *bytes = value && PyUnicode_Check(value) ? interpreter_utf8(value) : NULL;
    Py_XDECREF(value);
    return bytes;
}

static void look_outwards(PyObject *innermost, void (*look)(PyObject *frame))
{
    Py_INCREF(innermost);
    for (PyObject *frame = innermost, *back; frame; frame = back) {
        look(frame);
        back = (PyObject *)interpreter.frame_back((PyFrameObject *)frame);
        Py_DECREF(frame);
    }
}

void interpreter_each_frame(void (*look)(PyObject *frame))
{
    PyObject *current = PySys_GetObject("_current_frames");
    PyObject *frames = current ? PyObject_CallObject(current, NULL) : NULL;
    PyObject *all = frames ? PyMapping_Values(frames) : NULL;
    for (Py_ssize_t i = 0; all && i < PyList_Size(all); i++)
        look_outwards(PyList_GetItem(all, i), look);
    Py_XDECREF(all);
    Py_XDECREF(frames);
    PyErr_Clear();
}
