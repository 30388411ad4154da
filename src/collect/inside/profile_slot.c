#include "collect/inside/profile_slot.h"

#include <stdio.h>

#include "collect/inside/slot_sharing.h"
#include "collect/inside/thread_start.h"
#include "collect/inside/tracer.h"

/* As in CPython's own header, which the limited API leaves out. */
enum { EVENT_CALL = 0, EVENT_RETURN = 3, EVENT_C_CALL = 4, EVENT_C_EXCEPTION = 5, EVENT_C_RETURN = 6 };

static bool is_active, is_setting;

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

/* With an object, the slot is shared: the object is the program's. */
static int on_event(PyObject *object, PyFrameObject *frame, int what, PyObject *argument)
{
    struct lane *lane = tracer_lane();
    if (__builtin_expect(lane != NULL, 1))
        take_event(lane, frame, what, argument);
    return __builtin_expect(object != NULL, 0) ? slot_sharing_pass_on(object, frame, what, argument) : 0;
}

static void set_in(PyThreadState *state, bool active, PyObject *object)
{
    is_setting = true;
    if (interpreter.set_profile_of(state, active ? on_event : NULL, object) < 0)
        PyErr_Clear();
    is_setting = false;
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

void profile_slot_take(PyObject *object)
{
    if (is_active)
        set_in(PyThreadState_Get(), true, object);
}

static void begin_in_new_thread(void)
{
    if (is_active)
        set_in(PyThreadState_Get(), true, NULL);
}

static void set_in_all_threads(bool active)
{
    PyThreadState *state = interpreter.first_thread(PyInterpreterState_Get());
    for (; state; state = interpreter.next_thread(state))
        set_in(state, active, NULL);
}

int profile_slot_set(bool active, char *why, size_t why_bytes)
{
    if (active == is_active)
        return 0;
    if (active && thread_start_call(begin_in_new_thread) < 0) {
        snprintf(why, why_bytes, "_thread.start_new_thread could not be replaced");
        return -1;
    }
    is_active = active;
    set_in_all_threads(active);
    if (active)
        slot_sharing_begin();
    return 0;
}
