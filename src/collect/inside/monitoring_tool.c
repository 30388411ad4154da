#include "collect/inside/monitoring_tool.h"

#include <stdio.h>

struct callback {
    PyObject base;
    monitoring_callback *function;
};

PyObject *monitoring_tool_disable, *monitoring_tool_missing;

static PyObject *monitoring; /* the module sys.monitoring */

static PyObject *callback_call(PyObject *self, PyObject *arguments, PyObject *names)
{
    return interpreter.vectorcall_call(self, arguments, names);
}

static void callback_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static PyObject *new_callback_type(void)
{
    /* As PyMemberDef, whose header is not part of the limited API of 3.9. */
    static struct {
        const char *name;
        int type;
        Py_ssize_t offset;
        int flags;
        const char *doc;
    } members[] = {
        {"__vectorcalloffset__", 19 /* Py_T_PYSSIZET */, offsetof(struct callback, function), 1, NULL},
        {NULL, 0, 0, 0, NULL},
    };
    static PyType_Slot slots[] = {
        {Py_tp_members, members},
        {Py_tp_call, callback_call},
        {Py_tp_dealloc, callback_free},
        {0, NULL},
    };
    static PyType_Spec spec = {
        .name = "sonde._inside.callback",
        .basicsize = sizeof(struct callback),
        .flags = Py_TPFLAGS_DEFAULT | 1ul << 11 /* has a vectorcall slot */,
        .slots = slots,
    };
    return PyType_FromSpec(&spec);
}

static int register_callback(const struct monitoring_tool *tool, PyObject *type,
                             const struct monitoring_event *event)
{
    unsigned long number = monitoring_tool_event(event->name);
    allocfunc allocate = (allocfunc)PyType_GetSlot((PyTypeObject *)type, Py_tp_alloc);
    struct callback *callback = number ? (struct callback *)allocate((PyTypeObject *)type, 0) : NULL;
    if (!callback)
        return -1;
    callback->function = event->function;
    PyObject *result =
        PyObject_CallMethod(monitoring, "register_callback", "lkO", tool->id, number, (PyObject *)callback);
    Py_DECREF((PyObject *)callback);
    Py_XDECREF(result);
    return result ? 0 : -1;
}

unsigned long monitoring_tool_event(const char *name)
{
    PyObject *events = PyObject_GetAttrString(monitoring, "events");
    PyObject *value = events ? PyObject_GetAttrString(events, name) : NULL;
    unsigned long number = value ? PyLong_AsUnsignedLong(value) : 0;
    Py_XDECREF(value);
    Py_XDECREF(events);
    if (!value)
        PyErr_Clear();
    return number;
}

static int register_callbacks(const struct monitoring_tool *tool, const struct monitoring_event *events,
                              size_t count)
{
    PyObject *type = new_callback_type();
    int result = type ? 0 : -1;
    for (size_t i = 0; result == 0 && i < count; i++)
        result = register_callback(tool, type, &events[i]);
    Py_XDECREF(type);
    return result;
}

/* Ids 3 and 4 have no customary owner, and that of 5 is nowhere in use; cProfile cannot do without 2. */
static int take_id(struct monitoring_tool *tool)
{
    const long preferred[] = {tool->wish, 4, 3, 5, 2, 1, 0};
    for (size_t i = 0; i < sizeof preferred / sizeof *preferred; i++) {
        PyObject *result = PyObject_CallMethod(monitoring, "use_tool_id", "ls", preferred[i], "sonde");
        if (result) {
            Py_DECREF(result);
            tool->id = preferred[i];
            return 0;
        }
        PyErr_Clear();
    }
    return -1;
}

static void describe_holders(char *why, size_t why_bytes)
{
    size_t used = (size_t)snprintf(why, why_bytes, "all six tool ids of sys.monitoring are taken:");
    for (long id = 0; id < 6 && used < why_bytes; id++) {
        PyObject *name = PyObject_CallMethod(monitoring, "get_tool", "l", id);
        PyObject *bytes = name && PyUnicode_Check(name) ? interpreter_utf8(name) : NULL;
        used += (size_t)snprintf(why + used, why_bytes - used, " %s", bytes ? PyBytes_AsString(bytes) : "?");
        Py_XDECREF(bytes);
        Py_XDECREF(name);
        PyErr_Clear();
    }
}

static int find_module(void)
{
    PyObject *module = monitoring ? NULL : PySys_GetObject("monitoring");
    if (!module)
        return monitoring ? 0 : -1;
    Py_INCREF(module);
    monitoring = module;
    monitoring_tool_disable = PyObject_GetAttrString(module, "DISABLE");
    monitoring_tool_missing = PyObject_GetAttrString(module, "MISSING");
    return monitoring_tool_disable && monitoring_tool_missing ? 0 : -1;
}

int monitoring_tool_open(struct monitoring_tool *tool, const struct monitoring_event *events, size_t count,
                         char *why, size_t why_bytes)
{
    if (tool->is_open)
        return 0;
    if (find_module() < 0) {
        snprintf(why, why_bytes, "this CPython has no sys.monitoring");
        return -1;
    }
    if (take_id(tool) < 0) {
        describe_holders(why, why_bytes);
        return -1;
    }
    tool->is_open = true;
    if (register_callbacks(tool, events, count) == 0)
        return 0;
    snprintf(why, why_bytes, "sys.monitoring refused the callbacks");
    return -1;
}

int monitoring_tool_set(const struct monitoring_tool *tool, unsigned long events)
{
    PyObject *done = PyObject_CallMethod(monitoring, "set_events", "lk", tool->id, events);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

int monitoring_tool_set_local(const struct monitoring_tool *tool, PyObject *code, unsigned long events)
{
    PyObject *done = PyObject_CallMethod(monitoring, "set_local_events", "lOk", tool->id, code, events);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

void monitoring_tool_restart(void)
{
    PyObject *done = PyObject_CallMethod(monitoring, "restart_events", NULL);
    if (!done)
        PyErr_Clear();
    Py_XDECREF(done);
}
