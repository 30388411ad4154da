#include "collect/inside/profile_slot.h"

#include <stdio.h>

#include "collect/inside/slot_sharing.h"
#include "collect/inside/tracer.h"

/* As in CPython's own header, which the limited API leaves out. */
enum { EVENT_CALL = 0, EVENT_RETURN = 3, EVENT_C_CALL = 4, EVENT_C_EXCEPTION = 5, EVENT_C_RETURN = 6 };

static bool is_active;
static PyObject *real_start;    /* the interpreter's own start_new_thread */
static PyObject *marker;        /* what sys.getprofile() shows while the slot is ours */
static PyObject *shared_marker; /* the same, while the program has a function of its own there, too */
static bool is_setting;

static void on_c_event(struct lane *lane, PyFrameObject *frame, int what, PyObject *callable)
{
    if (!lane->first->trace->c_calls && !lane->first->next)
        return;
    if (__builtin_expect(lane->first->trace->may_leave_out, 0) &&
        tracer_leaves_out(lane, (uint64_t)interpreter_frame_code(frame)))
        return;
    uint64_t key = interpreter_builtin_key(callable);
    if (what == EVENT_C_CALL)
        tracer_enter(lane, key, callable, CALLEE_C, tracer_now());
    else
        tracer_leave(lane, key, tracer_now());
}

static void take_event(struct lane *lane, PyFrameObject *frame, int what, PyObject *argument)
{
    if (what == EVENT_CALL) {
        PyObject *code = interpreter_frame_code(frame);
        tracer_enter(lane, (uint64_t)code, code, CALLEE_PYTHON, tracer_now());
    } else if (what == EVENT_RETURN) {
        tracer_leave(lane, (uint64_t)interpreter_frame_code(frame), tracer_now());
    } else if (what >= EVENT_C_CALL && what <= EVENT_C_RETURN) {
        if (PyCFunction_Check(argument))
            on_c_event(lane, frame, what, argument);
    }
}

static int on_event(PyObject *object, PyFrameObject *frame, int what, PyObject *argument)
{
    struct lane *lane = tracer_lane();
    if (__builtin_expect(lane != NULL, 1))
        take_event(lane, frame, what, argument);
    return __builtin_expect(object == shared_marker, 0) ? slot_sharing_pass_on(frame, what, argument) : 0;
}

static void set_in(PyThreadState *state, PyObject *object)
{
    is_setting = true;
    if (interpreter.set_profile_of(state, object ? on_event : NULL, object) < 0)
        PyErr_Clear();
    is_setting = false;
}

bool profile_slot_is_active(void)
{
    return is_active;
}

bool profile_slot_is_ours(interpreter_profile_function *function, PyObject *object)
{
    return function == on_event && (object == marker || object == shared_marker);
}

bool profile_slot_is_setting(void)
{
    return is_setting;
}

void profile_slot_take(bool shared)
{
    if (is_active)
        set_in(PyThreadState_Get(), shared ? shared_marker : marker);
}

/* sys.setprofile(what sys.getprofile() gave): the slot comes back to us as a Python callable. */
static PyObject *call_marker(PyObject *self, PyObject *arguments)
{
    (void)self, (void)arguments;
    set_in(PyThreadState_Get(), is_active ? marker : NULL);
    Py_RETURN_NONE;
}

static PyMethodDef marker_method = {"sonde", call_marker, METH_VARARGS, "sonde's profile function"};

static void set_in_all_threads(bool active)
{
    PyThreadState *state = interpreter.first_thread(PyInterpreterState_Get());
    for (; state; state = interpreter.next_thread(state))
        set_in(state, active ? marker : NULL);
}

/* Runs first in a new thread: start_new_thread(boot, ((function, arguments[, names]),)). */
static PyObject *boot(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *call = PyTuple_GetItem(arguments, 0);
    if (!call)
        return NULL;
    if (is_active)
        set_in(PyThreadState_Get(), marker);
    PyObject *names = PyTuple_Size(call) > 2 ? PyTuple_GetItem(call, 2) : NULL;
    return PyObject_Call(PyTuple_GetItem(call, 0), PyTuple_GetItem(call, 1), names);
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
    if (!is_active || !is_a_plain_start(arguments))
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

/* At exit of a launched program: whose is the main thread's slot? */
static PyObject *check_holder(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    PyObject *sys = PyImport_ImportModule("sys");
    PyObject *holder = sys ? PyObject_CallMethod(sys, "getprofile", NULL) : NULL;
    if (is_active && holder && holder != marker && holder != shared_marker) {
        PyObject *repr = PyObject_Repr(holder == Py_None ? holder : (PyObject *)Py_TYPE(holder));
        PyObject *text = repr ? interpreter_utf8(repr) : NULL;
        tracer_note(
            "the program gave the profile slot of its main thread to another profiler (now: %s); calls "
            "after that are missing",
            text ? PyBytes_AsString(text) : "unknown");
        Py_XDECREF(text);
        Py_XDECREF(repr);
    }
    Py_XDECREF(holder);
    Py_XDECREF(sys);
    PyErr_Clear();
    Py_RETURN_NONE;
}

static PyMethodDef check_method = {"sonde_check", check_holder, METH_NOARGS, NULL};

static void check_at_exit(void)
{
    PyObject *module = PyImport_ImportModule("atexit");
    PyObject *function = PyCFunction_New(&check_method, NULL);
    PyObject *result = module && function ? PyObject_CallMethod(module, "register", "O", function) : NULL;
    Py_XDECREF(result);
    Py_XDECREF(function);
    Py_XDECREF(module);
    PyErr_Clear();
}

static int prepare(void)
{
    if (marker)
        return 0;
    if (replace_start() < 0)
        return -1;
    marker = PyCFunction_New(&marker_method, NULL);
    shared_marker = PyCFunction_New(&marker_method, NULL);
    if (tracer.agent)
        check_at_exit();
    return marker && shared_marker ? 0 : -1;
}

int profile_slot_set(bool active, char *why, size_t why_bytes)
{
    if (active == is_active)
        return 0;
    if (active && prepare() < 0) {
        snprintf(why, why_bytes, "_thread.start_new_thread could not be replaced");
        return -1;
    }
    is_active = active;
    set_in_all_threads(active);
    if (active)
        slot_sharing_begin();
    return 0;
}
