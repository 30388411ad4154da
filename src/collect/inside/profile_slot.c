#include "collect/inside/profile_slot.h"

#include <stdio.h>

#include "collect/inside/slot_sharing.h"
#include "collect/inside/thread_start.h"
#include "collect/inside/tracer.h"

/* As in CPython's own header, which the limited API leaves out. */
enum { EVENT_CALL = 0, EVENT_RETURN = 3, EVENT_C_CALL = 4, EVENT_C_EXCEPTION = 5, EVENT_C_RETURN = 6 };

/* What lies in the slot beside our function, a new one each time: when the program takes the slot away, the token
 * loses its last reference and we hear of it. It is also what sys.getprofile() shows. */
struct token {
    PyObject base;
    bool shared; /* the program has a function of its own there, too */
};

static bool is_active, is_setting;
static PyObject *token_type;

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
    return __builtin_expect(((struct token *)object)->shared, 0) ? slot_sharing_pass_on(frame, what, argument)
                                                                 : 0;
}

static PyObject *new_token(bool shared)
{
    allocfunc allocate = (allocfunc)PyType_GetSlot((PyTypeObject *)token_type, Py_tp_alloc);
    PyObject *token = allocate((PyTypeObject *)token_type, 0);
    if (token)
        ((struct token *)token)->shared = shared;
    return token;
}

static void set_in(PyThreadState *state, bool active, bool shared)
{
    PyObject *token = active ? new_token(shared) : NULL;
    is_setting = true;
    if (interpreter.set_profile_of(state, token ? on_event : NULL, token) < 0)
        PyErr_Clear();
    is_setting = false;
    Py_XDECREF(token);
}

/* sys.setprofile(what sys.getprofile() gave): the slot comes back to us as a Python callable. */
static PyObject *token_call(PyObject *self, PyObject *arguments, PyObject *names)
{
    (void)self, (void)arguments, (void)names;
    profile_slot_take(false);
    Py_RETURN_NONE;
}

/* Threads that end and interpreters that shut down let go of their tokens, too: only a running main thread whose
 * slot was not set by us has lost it. */
static void token_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    if (is_active && !is_setting && Py_IsInitialized() && tracer_in_main_thread())
        tracer_note(
            "the program has set another profile function in its main thread (a profiler of its own?); "
            "calls after that are missing");
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static int prepare(void)
{
    static PyType_Slot slots[] = {{Py_tp_call, token_call}, {Py_tp_dealloc, token_free}, {0, NULL}};
    static PyType_Spec spec = {.name = "sonde.profile_function",
                               .basicsize = sizeof(struct token),
                               .flags = Py_TPFLAGS_DEFAULT,
                               .slots = slots};
    if (!token_type)
        token_type = PyType_FromSpec(&spec);
    return token_type ? 0 : -1;
}

bool profile_slot_is_active(void)
{
    return is_active;
}

bool profile_slot_is_ours(interpreter_profile_function *function)
{
    return function == on_event;
}

bool profile_slot_is_setting(void)
{
    return is_setting;
}

void profile_slot_take(bool shared)
{
    if (!is_active)
        return;
    set_in(PyThreadState_Get(), true, shared);
    if (tracer_in_main_thread())
        tracer_forget_note();
}

static void begin_in_new_thread(void)
{
    if (is_active)
        set_in(PyThreadState_Get(), true, false);
}

static void set_in_all_threads(bool active)
{
    PyThreadState *state = interpreter.first_thread(PyInterpreterState_Get());
    for (; state; state = interpreter.next_thread(state))
        set_in(state, active, false);
}

int profile_slot_set(bool active, char *why, size_t why_bytes)
{
    if (active == is_active)
        return 0;
    if (active && (prepare() < 0 || thread_start_call(begin_in_new_thread) < 0)) {
        PyErr_Clear();
        snprintf(why, why_bytes, "_thread.start_new_thread could not be replaced");
        return -1;
    }
    is_active = active;
    set_in_all_threads(active);
    if (active)
        slot_sharing_begin();
    return 0;
}
