#include "collect/inside/line_discovery.h"

#include "collect/inside/line_codes.h"
#include "collect/inside/line_hook.h"
#include "collect/inside/line_session.h"

#define CALLED_FAST 0x80 /* METH_FASTCALL */

/* As in methodobject.h and descrobject.h, which the stable ABI does not show. */
struct method_object {
    PyObject ob_base;
    PyMethodDef *definition;
};
struct getset_descriptor {
    PyObject ob_base;
    void *type, *name, *qualname;
    PyGetSetDef *definition;
};

typedef PyObject *call_fast(PyObject *self, PyObject *const *arguments, Py_ssize_t count);
typedef PyObject *call_fast_with_names(PyObject *self, PyObject *const *arguments, Py_ssize_t count,
                                       PyObject *names);

uint32_t line_discovery_awaited;
static __thread bool is_awaited __attribute__((tls_model("initial-exec")));

static bool is_main_awaited;
static bool works;      /* all is told of */
static bool has_missed; /* bodies, since the hook was away */

static call_fast_with_names *exec_before;
static call_fast *eval_before;
static newfunc new_before;
static setter set_code_before;

/* ---- bodies ---- */

static void await(bool awaited)
{
    has_missed |= !line_hook_has_begun();
    if (is_awaited == awaited)
        return;
    is_awaited = awaited;
    line_discovery_awaited += awaited ? 1u : UINT32_MAX;
    line_hook_settle();
}

static void await_main(bool awaited)
{
    if (is_main_awaited == awaited)
        return;
    is_main_awaited = awaited;
    line_discovery_awaited += awaited ? 1u : UINT32_MAX;
    line_hook_settle();
}

static bool is_of_main(PyObject *globals)
{
    PyObject *modules = PyImport_GetModuleDict();
    PyObject *main = modules ? PyDict_GetItemString(modules, "__main__") : NULL;
    return main && PyModule_Check(main) && PyModule_GetDict(main) == globals;
}

/* What warns of the text is a function, and runs first. */
void line_discovery_meet(PyObject *code, PyObject *globals)
{
    enum { NEWLOCALS = 2 };
    int flags = *(int *)((char *)code + 6 * sizeof(void *));
    if (flags & NEWLOCALS)
        return;
    await(false);
    if (is_main_awaited && is_of_main(globals))
        await_main(false);
}

static PyObject *run_exec(PyObject *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    await(true);
    PyObject *result = exec_before(self, arguments, count, names);
    await(false);
    return result;
}

static PyObject *run_eval(PyObject *self, PyObject *const *arguments, Py_ssize_t count)
{
    await(true);
    PyObject *result = eval_before(self, arguments, count);
    await(false);
    return result;
}

/* ---- functions ---- */

/* At the code of a function or frame, by the names of their attributes. */
static void look_at_code_of(PyObject *object, const char *name_of_code, const char *name_of_globals)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *code = interpreter_attribute(object, name_of_code);
    PyObject *globals = interpreter_attribute(object, name_of_globals);
    if (code && globals && Py_TYPE(code) == interpreter.code_type && !line_codes_find(code))
        line_session_look(code, globals);
    Py_XDECREF(globals);
    Py_XDECREF(code);
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
}

static void look_at(PyObject *function)
{
    look_at_code_of(function, "__code__", "__globals__");
}

static PyObject *new_function(PyTypeObject *type, PyObject *arguments, PyObject *names)
{
    PyObject *function = new_before(type, arguments, names);
    if (function)
        look_at(function);
    return function;
}

static int set_code(PyObject *function, PyObject *code, void *closure)
{
    int result = set_code_before(function, code, closure);
    if (result == 0)
        look_at(function);
    return result;
}

static bool look_at_all(void)
{
    PyObject *gc = PyImport_ImportModule("gc");
    PyObject *objects = gc ? PyObject_CallMethod(gc, "get_objects", NULL) : NULL;
    for (Py_ssize_t i = 0; objects && i < PyList_Size(objects); i++)
        if (Py_TYPE(PyList_GetItem(objects, i)) == interpreter.function_type)
            look_at(PyList_GetItem(objects, i));
    Py_XDECREF(objects);
    Py_XDECREF(gc);
    PyErr_Clear();
    return objects;
}

/* What a body defines later is not yet a function. */
static void look_at_frame(PyObject *frame)
{
    look_at_code_of(frame, "f_code", "f_globals");
}

void line_discovery_catch_up(void)
{
    if (!works || (!has_missed && !is_main_awaited))
        return;
    look_at_all();
    interpreter_each_frame(look_at_frame);
    has_missed = false;
    await_main(false);
}

/* ---- the tables ---- */

/* The table's row of a built-in function that is called as expected. */
static PyMethodDef *find_method(PyObject *module, const char *name, int flags)
{
    PyObject *function = module ? interpreter_attribute(module, name) : NULL;
    PyMethodDef *definition = NULL;
    if (function && PyCFunction_Check(function) && PyCFunction_GetFlags(function) == flags)
        definition = ((struct method_object *)function)->definition;
    Py_XDECREF(function);
    PyErr_Clear();
    return definition;
}

static PyGetSetDef *find_attribute(PyTypeObject *type, const char *name)
{
    PyObject *space = interpreter_attribute((PyObject *)type, "__dict__");
    PyObject *descriptor = space ? PyMapping_GetItemString(space, name) : NULL;
    PyGetSetDef *definition = NULL;
    if (descriptor && Py_TYPE(descriptor) == &PyGetSetDescr_Type)
        definition = ((struct getset_descriptor *)descriptor)->definition;
    Py_XDECREF(descriptor);
    Py_XDECREF(space);
    PyErr_Clear();
    return definition;
}

/* Where a static type keeps the function that makes an instance. */
static newfunc *find_new(PyTypeObject *type)
{
    newfunc make = (newfunc)PyType_GetSlot(type, Py_tp_new);
    for (size_t at = sizeof(PyObject); at < 400; at += sizeof(void *)) {
        newfunc *place = (newfunc *)(void *)((char *)type + at);
        if (make && *place == make)
            return place;
    }
    return NULL;
}

static bool change_tables(void)
{
    PyObject *builtins = PyImport_ImportModule("builtins");
    PyMethodDef *exec = find_method(builtins, "exec", CALLED_FAST | METH_KEYWORDS);
    PyMethodDef *eval = find_method(builtins, "eval", CALLED_FAST);
    PyGetSetDef *code = find_attribute(interpreter.function_type, "__code__");
    newfunc *new = find_new(interpreter.function_type);
    Py_XDECREF(builtins);
    if (!exec || !eval || !code || !new)
        return false;
    exec_before = (call_fast_with_names *)(void (*)(void))exec->ml_meth;
    eval_before = (call_fast *)(void (*)(void))eval->ml_meth;
    set_code_before = code->set;
    new_before = *new;
    exec->ml_meth = (PyCFunction)(void (*)(void))run_exec;
    eval->ml_meth = (PyCFunction)(void (*)(void))run_eval;
    code->set = set_code;
    *new = new_function;
    return true;
}

bool line_discovery_begin(bool looks)
{
    static bool tried;
    if (!tried && interpreter.minor == 11)
        works = change_tables() && (!looks || look_at_all());
    if (!tried && works)
        await_main(true);
    tried = true;
    return works;
}
