#include "collect/inside/session_type.h"

#include <structmember.h>

#include "base/bytes.h"
#include "base/err.h"
#include "collect/inside/tracer.h"
#include "collect/recorder/snapshot.h"

#define ARENA_BYTES ((uint64_t)256 << 20) /* reserved, not used, until calls fill it */

struct session_object {
    PyObject base;
    struct trace trace;
    bool ready;
    bool c_calls, library;
    char subcalls; /* whether caller and callee pairs are wanted: a matter of the results only */
};

static int fail(const char *why)
{
    PyErr_SetString(PyExc_RuntimeError, why);
    return -1;
}

static int start_trace(struct session_object *self, PyObject *timer, double unit)
{
    char why[200] = "";
    if (interpreter_init(why, sizeof why) < 0)
        return fail(why);
    const struct arena_limits limits = arena_limits_within(ARENA_BYTES);
    struct arena *arena = trace_new_private_arena(&limits);
    if (!arena)
        return fail("not enough address space for a profile (256 MiB are reserved)");
    if (timer) {
        arena->ns_per_tick = unit > 0 ? unit * 1e9 : 1.0;
        arena->start_ticks = 0;
    }
    const struct trace_settings settings = {.c_calls = self->c_calls, .exclude_library = !self->library};
    if (trace_init(&self->trace, arena, false, &settings, why, sizeof why) < 0)
        return fail(why);
    Py_XINCREF(timer);
    self->trace.timer = timer;
    self->trace.timer_unit = unit;
    self->ready = true;
    return 0;
}

static int session_init(PyObject *object, PyObject *arguments, PyObject *names)
{
    static char *keywords[] = {"c_calls", "timer", "timeunit", "subcalls", "library", NULL};
    struct session_object *self = (struct session_object *)object;
    int c_calls = 1, subcalls = 1, library = 1;
    PyObject *timer = Py_None;
    double unit = 0.0;
    if (!PyArg_ParseTupleAndKeywords(arguments, names, "|pOdpp", keywords, &c_calls, &timer, &unit, &subcalls,
                                     &library))
        return -1;
    if (self->ready) {
        tracer_forget(&self->trace);
        trace_clear(&self->trace);
    }
    self->c_calls = c_calls;
    self->library = library;
    self->subcalls = subcalls != 0;
    return start_trace(self, timer == Py_None ? NULL : timer, unit);
}

static void session_free(PyObject *object)
{
    struct session_object *self = (struct session_object *)object;
    PyTypeObject *type = Py_TYPE(object);
    if (self->ready) {
        tracer_forget(&self->trace);
        trace_clear(&self->trace);
    }
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

static bool is_ready(struct session_object *self)
{
    if (!self->ready)
        PyErr_SetString(PyExc_RuntimeError, "Session.__init__ was not called");
    return self->ready;
}

static PyObject *session_enable(PyObject *object, PyObject *arguments, PyObject *names)
{
    static char *keywords[] = {"subcalls", "builtins", NULL};
    struct session_object *self = (struct session_object *)object;
    int subcalls = -1, builtins = -1;
    if (!is_ready(self) ||
        !PyArg_ParseTupleAndKeywords(arguments, names, "|pp", keywords, &subcalls, &builtins))
        return NULL;
    if (builtins >= 0)
        self->c_calls = builtins;
    if (subcalls >= 0)
        self->subcalls = subcalls != 0;
    self->trace.c_calls = self->c_calls;
    char why[200] = "";
    if (tracer_begin(&self->trace, why, sizeof why) < 0) {
        fail(why);
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *session_disable(PyObject *object, PyObject *unused)
{
    (void)unused;
    struct session_object *self = (struct session_object *)object;
    if (!is_ready(self))
        return NULL;
    tracer_end(&self->trace);
    Py_RETURN_NONE;
}

/* Begins anew with an empty arena; enabled or not stays as it is. */
static PyObject *session_clear(PyObject *object, PyObject *unused)
{
    (void)unused;
    struct session_object *self = (struct session_object *)object;
    if (!is_ready(self))
        return NULL;
    bool enabled = self->trace.enabled;
    PyObject *timer = self->trace.timer;
    double unit = self->trace.timer_unit;
    Py_XINCREF(timer);
    tracer_forget(&self->trace);
    trace_clear(&self->trace);
    self->ready = false;
    int result = start_trace(self, timer, unit);
    Py_XDECREF(timer);
    char why[200] = "";
    if (result == 0 && enabled && tracer_begin(&self->trace, why, sizeof why) < 0)
        result = fail(why);
    if (result < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *session_snapshot(PyObject *object, PyObject *unused)
{
    (void)unused;
    struct session_object *self = (struct session_object *)object;
    if (!is_ready(self))
        return NULL;
    tracer_settle(&self->trace);
    struct bytes image = {0};
    struct err err = {0};
    PyObject *result = NULL;
    if (snapshot_write(self->trace.arena, &image, &err) == 0)
        result = PyBytes_FromStringAndSize((char *)image.data, (Py_ssize_t)image.size);
    else
        PyErr_SetString(PyExc_RuntimeError, err.text);
    bytes_clear(&image);
    return result;
}

int session_type_add(PyObject *module)
{
    static PyMethodDef methods[] = {
        {"enable", (PyCFunction)(void (*)(void))session_enable, METH_VARARGS | METH_KEYWORDS,
         "Start recording calls, in all threads."},
        {"disable", session_disable, METH_NOARGS, "Stop recording."},
        {"clear", session_clear, METH_NOARGS, "Forget everything recorded so far."},
        {"raw_snapshot", session_snapshot, METH_NOARGS,
         "Everything recorded so far, as the bytes of a .sonde file."},
        {NULL, NULL, 0, NULL},
    };
    static PyMemberDef members[] = {
        {"subcalls", T_BOOL, offsetof(struct session_object, subcalls), READONLY, NULL},
        {NULL, 0, 0, 0, NULL},
    };
    static PyType_Slot slots[] = {
        {Py_tp_members, members},
        {Py_tp_init, session_init},
        {Py_tp_dealloc, session_free},
        {Py_tp_methods, methods},
        {Py_tp_doc, "A recording of calls in this process, under the program's control."},
        {0, NULL},
    };
    static PyType_Spec spec = {
        .name = "sonde._inside.Session",
        .basicsize = sizeof(struct session_object),
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
        .slots = slots,
    };
    PyObject *type = PyType_FromSpec(&spec);
    if (!type)
        return -1;
    int result = PyModule_AddObject(module, "Session", type);
    if (result < 0)
        Py_DECREF(type);
    return result;
}
