#include "collect/inside/setprofile.h"

#include <string.h>

#include "collect/inside/monitoring.h"
#include "collect/inside/slot_sharing.h"
#include "collect/inside/thread_slot.h"

static PyCFunction real_set, real_set_all;
static PyInterpreterState *watched;                  /* the others have the same method table */
static interpreter_profile_function *their_function; /* CPython's, which calls the program's */
static bool
    calls_are_prepared; /* by the program's own functions, on 3.12 and later: since the last one was set */

/* C functions that the thread has begun since the program's function was set. */
static __thread unsigned open_c_calls __attribute__((tls_model("initial-exec")));

bool setprofile_wants(int what)
{
    if (what == EVENT_C_CALL)
        open_c_calls++;
    if (what != EVENT_C_RETURN && what != EVENT_C_EXCEPTION)
        return true;
    return open_c_calls > 0 && open_c_calls-- > 0;
}

void setprofile_begin(void)
{
    open_c_calls = 0;
}

/* In the slot of a thread, in place of their function. */
static int filter(PyObject *object, PyFrameObject *frame, int what, PyObject *argument)
{
    return setprofile_wants(what) ? their_function(object, frame, what, argument) : 0;
}

static int filter_first(PyObject *object, PyFrameObject *frame, int what, PyObject *argument)
{
    setprofile_begin();
    thread_slot_of(PyThreadState_Get())->function = filter;
    return filter(object, frame, what, argument);
}

static bool is_filter(interpreter_profile_function *function)
{
    return function == filter || function == filter_first;
}

static void put_between(struct thread_slot *slot, interpreter_profile_function *function)
{
    if (!slot->function || is_filter(slot->function))
        return;
    their_function = slot->function;
    slot->function = function;
}

static bool any_thread_has_function(void)
{
    PyThreadState *state = interpreter.first_thread(watched);
    for (; state; state = interpreter.next_thread(state))
        if (thread_slot_of(state)->function)
            return true;
    return false;
}

static void put_between_in_all_threads(void)
{
    PyThreadState *state = interpreter.first_thread(watched);
    for (; state; state = interpreter.next_thread(state))
        put_between(thread_slot_of(state), filter_first);
}

/* 3.12 and later: one function in a thread, and the calls of all threads are prepared for it, as they are for us. */
static PyObject *set_beside_monitoring(PyCFunction real, PyObject *self, PyObject *function)
{
    PyThreadState *state = PyThreadState_Get();
    struct thread_slot *slot = thread_slot_of(state);
    interpreter_profile_function *before = slot ? slot->function : NULL;
    bool prepared = calls_are_prepared || (slot && any_thread_has_function());
    struct thread_slot_search search;
    thread_slot_look_before(&search, state);
    PyObject *result = real(self, function);
    if (!slot)
        thread_slot_look_after(&search, state, function);
    slot = thread_slot_of(state);
    if (!result || !slot)
        return result;
    if (is_filter(before))
        put_between(slot, before);
    else if (!prepared && monitoring_has_c_calls())
        put_between(slot, filter_first);
    if (!prepared && monitoring_has_c_calls() && real == real_set_all)
        put_between_in_all_threads();
    calls_are_prepared = any_thread_has_function();
    return result;
}

static PyObject *set(PyCFunction real, PyObject *self, PyObject *function)
{
    if (PyInterpreterState_Get() != watched)
        return real(self, function);
    if (interpreter.has_monitoring)
        return set_beside_monitoring(real, self, function);
    return slot_sharing_set(real, self, function);
}

static PyObject *set_one(PyObject *self, PyObject *function)
{
    return set(real_set, self, function);
}

static PyObject *set_all(PyObject *self, PyObject *function)
{
    return set(real_set_all, self, function);
}

static void stand_in_for(const char *name, PyCFunction ours, PyCFunction *real)
{
    PyObject *function = PySys_GetObject(name);
    if (!function || Py_TYPE(function) != &PyCFunction_Type)
        return;
    PyMethodDef *method = (PyMethodDef *)interpreter_builtin_key(function);
    if (strcmp(method->ml_name, name) != 0 || method->ml_flags != METH_O)
        return;
    *real = method->ml_meth;
    method->ml_meth = ours;
}

void setprofile_watch(void)
{
    if (watched || !interpreter.first_thread || !interpreter.next_thread)
        return;
    watched = PyInterpreterState_Get();
    stand_in_for("setprofile", set_one, &real_set);
    stand_in_for("_setprofileallthreads", set_all, &real_set_all);
}
