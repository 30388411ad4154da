#include "collect/inside/line_profile.h"

#include "collect/inside/line_session.h"

#define WRAPPERS_MAX 64

static bool was_used;

static void add(PyObject *object, int wrappers);

static PyObject *attribute(PyObject *object, const char *name)
{
    PyObject *value = PyObject_GetAttrString(object, name);
    if (!value)
        PyErr_Clear();
    return value;
}

/* True when the object has such an attribute. */
static bool add_attribute(PyObject *object, const char *name, int wrappers)
{
    PyObject *value = attribute(object, name);
    if (value && value != Py_None && wrappers < WRAPPERS_MAX)
        add(value, wrappers + 1);
    Py_XDECREF(value);
    return value != NULL;
}

static bool is_of_module(PyObject *object, PyObject *module)
{
    PyObject *own = attribute(object, "__module__");
    bool is = !own || !module || PyObject_RichCompareBool(own, module, Py_EQ) == 1;
    Py_XDECREF(own);
    PyErr_Clear();
    return is;
}

/* What a class or module has defined itself. */
static void add_members(PyObject *object, const char *name_of_module, int wrappers)
{
    PyObject *module = attribute(object, name_of_module), *space = attribute(object, "__dict__");
    PyObject *members = space ? PyMapping_Values(space) : NULL;
    for (Py_ssize_t i = 0; members && i < PyList_Size(members) && wrappers < WRAPPERS_MAX; i++) {
        PyObject *member = PyList_GetItem(members, i);
        if (member != object && is_of_module(member, module) && !PyUnicode_Check(member))
            add(member, wrappers + 1);
    }
    Py_XDECREF(members);
    Py_XDECREF(space);
    Py_XDECREF(module);
    PyErr_Clear();
}

static bool is_module(PyObject *object)
{
    return PyObject_TypeCheck(object, &PyModule_Type);
}

static void add_function(PyObject *function, int wrappers)
{
    if (add_attribute(function, "__wrapped__", wrappers))
        return;
    PyObject *code = attribute(function, "__code__");
    if (code)
        line_session_choose(code);
    Py_XDECREF(code);
}

/* The names under which bound, class and static methods, wrappers such as lru_cache, partials and cached properties, and
 * properties keep what they wrap. */
static void add(PyObject *object, int wrappers)
{
    static const char *const names[] = {"__func__", "__wrapped__", "func", "fget"};
    if (Py_TYPE(object) == interpreter.function_type) {
        add_function(object, wrappers);
    } else if (PyType_Check(object)) {
        add_members(object, "__module__", wrappers);
    } else if (is_module(object)) {
        add_members(object, "__name__", wrappers);
    } else {
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (add_attribute(object, names[i], wrappers))
                break;
        add_attribute(object, "fset", wrappers);
        add_attribute(object, "fdel", wrappers);
    }
}

/* Times the code of a function, method, property, partial, class, module or whatever wraps one of them. */
static void add_named(PyObject *object)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    was_used = true;
    add(object, 0);
    PyErr_Restore(type, value, traceback);
}

bool line_profile_was_used(void)
{
    return was_used;
}

/* ---- the object ---- */

static PyObject *profile_call(PyObject *self, PyObject *arguments, PyObject *names)
{
    if (PyTuple_Size(arguments) == 0 &&
        names) { /* @profile(precision=4): memory_profiler's settings are not ours */
        Py_INCREF(self);
        return self;
    }
    if (PyTuple_Size(arguments) != 1) {
        PyErr_SetString(PyExc_TypeError, "profile takes one function, class or module");
        return NULL;
    }
    PyObject *object = PyTuple_GetItem(arguments, 0);
    add_named(object);
    Py_INCREF(object);
    return object;
}

static PyObject *add_all(PyObject *self, PyObject *arguments)
{
    (void)self;
    for (Py_ssize_t i = 0; i < PyTuple_Size(arguments); i++)
        add_named(PyTuple_GetItem(arguments, i));
    Py_RETURN_NONE;
}

static PyObject *run_call(PyObject *self, PyObject *arguments, PyObject *names)
{
    (void)self;
    if (PyTuple_Size(arguments) < 1) {
        PyErr_SetString(PyExc_TypeError, "runcall takes a function");
        return NULL;
    }
    PyObject *function = PyTuple_GetItem(arguments, 0);
    PyObject *rest = PyTuple_GetSlice(arguments, 1, PyTuple_Size(arguments));
    PyObject *result = NULL;
    add_named(function);
    if (rest)
        result = PyObject_Call(function, rest, names);
    Py_XDECREF(rest);
    return result;
}

static PyObject *enter(PyObject *self, PyObject *unused)
{
    (void)unused;
    Py_INCREF(self);
    return self;
}

/* What was added is timed all the time: to switch that on and off is nothing to do. */
static PyObject *do_nothing(PyObject *self, PyObject *arguments, PyObject *names)
{
    (void)self, (void)arguments, (void)names;
    Py_RETURN_NONE;
}

#define NOTHING(name)                                                                                        \
    {                                                                                                        \
        name, (PyCFunction)(void (*)(void))do_nothing, METH_VARARGS | METH_KEYWORDS, NULL                    \
    }

/* with profile.timestamp("name"): of memory_profiler's. */
static PyObject *timestamp(PyObject *self, PyObject *arguments, PyObject *names)
{
    (void)arguments, (void)names;
    Py_INCREF(self);
    return self;
}

static PyObject *new_profile(bool of_memory)
{
    static PyMethodDef methods[] = {
        {"add_function", add_all, METH_VARARGS, "Time the lines of a function."},
        {"add_callable", add_all, METH_VARARGS, "Time the lines of a function or whatever wraps one."},
        {"add_class", add_all, METH_VARARGS, "Time the lines of a class's methods."},
        {"add_module", add_all, METH_VARARGS, "Time the lines of a module's functions and classes."},
        {"wrap_callable", (PyCFunction)(void (*)(void))profile_call, METH_VARARGS | METH_KEYWORDS, NULL},
        {"runcall", (PyCFunction)(void (*)(void))run_call, METH_VARARGS | METH_KEYWORDS,
         "Call a function and time its lines."},
        {"timestamp", (PyCFunction)(void (*)(void))timestamp, METH_VARARGS | METH_KEYWORDS, NULL},
        {"__enter__", enter, METH_NOARGS, NULL},
        NOTHING("__exit__"),
        NOTHING("enable"),
        NOTHING("disable"),
        NOTHING("enable_by_count"),
        NOTHING("disable_by_count"),
        NOTHING("print_stats"),
        NOTHING("dump_stats"),
        {NULL, NULL, 0, NULL},
    };
    static PyType_Slot slots[] = {
        {Py_tp_call, profile_call},
        {Py_tp_methods, methods},
        {Py_tp_doc, "Measures the lines of what it decorates, while sonde runs the program."},
        {0, NULL},
    };
    /* Programs that tell line_profiler's object from memory_profiler's look at the name of its module. */
    PyType_Spec spec = {.name = of_memory ? "memory_profiler.LineProfiler" : "line_profiler.LineProfiler",
                        .basicsize = sizeof(PyObject),
                        .flags = Py_TPFLAGS_DEFAULT,
                        .slots = slots};
    PyObject *type = PyType_FromSpec(&spec);
    PyObject *profile = type ? PyObject_CallObject(type, NULL) : NULL;
    Py_XDECREF(type);
    return profile;
}

int line_profile_install(bool of_memory)
{
    PyObject *builtins = PyImport_ImportModule("builtins");
    PyObject *profile = builtins ? new_profile(of_memory) : NULL;
    int result = profile ? PyObject_SetAttrString(builtins, "profile", profile) : -1;
    Py_XDECREF(profile);
    Py_XDECREF(builtins);
    PyErr_Clear();
    return result;
}
