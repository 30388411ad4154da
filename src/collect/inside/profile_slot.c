#include "collect/inside/profile_slot.h"

#include <stdio.h>

#include "collect/inside/line_clock.h"
#include "collect/inside/setprofile.h"
#include "collect/inside/slot_sharing.h"
#include "collect/inside/thread_start.h"
#include "collect/inside/tracer.h"

static bool is_active, is_setting, wants_c_calls;

static void take_c_event(PyFrameObject *frame, int what, PyObject *callable)
{
    uint64_t key = interpreter_builtin_key(callable);
    if (what == EVENT_C_CALL ? tracer_enter_quickly(key) : tracer_leave_quickly(key))
        return;
    struct lane *lane = tracer_lane();
    if (!lane || (lane->first->trace->may_leave_out &&
                  tracer_leaves_out(lane, (uint64_t)interpreter_frame_code(frame))))
        return;
    if (what == EVENT_C_CALL)
        tracer_enter(lane, key, callable, CALLEE_C);
    else
        tracer_leave(lane, key);
}

static void take_event(PyFrameObject *frame, int what, PyObject *argument)
{
    if (what >= EVENT_C_CALL) {
        if (wants_c_calls && what <= EVENT_C_RETURN && PyCFunction_Check(argument))
            take_c_event(frame, what, argument);
        return;
    }
    PyObject *code = interpreter_frame_code(frame);
    uint64_t key = (uint64_t)code;
    if (what == EVENT_CALL ? tracer_enter_quickly(key) : what != EVENT_RETURN || tracer_leave_quickly(key))
        return;
    struct lane *lane = tracer_lane();
    if (lane && what == EVENT_CALL)
        tracer_enter(lane, key, code, CALLEE_PYTHON);
    else if (lane)
        tracer_leave(lane, key);
}

/* With an object, the slot is shared: the object is the program's. */
static int on_event(PyObject *object, PyFrameObject *frame, int what, PyObject *argument)
{
    take_event(frame, what, argument);
    if (__builtin_expect(line_clock.is_logged, 0) && what == EVENT_CALL)
        line_clock_log_rest((uint64_t)interpreter_frame_code(frame), tracer_now());
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

int profile_slot_set(bool active, bool c_calls, char *why, size_t why_bytes)
{
    wants_c_calls = c_calls;
    if (active == is_active)
        return 0;
    if (active && thread_start_call(begin_in_new_thread) < 0) {
        snprintf(why, why_bytes, "_thread.start_new_thread could not be replaced");
        return -1;
    }
    is_active = active;
    set_in_all_threads(active);
    if (active)
        slot_sharing_begin(on_event);
    return 0;
}
