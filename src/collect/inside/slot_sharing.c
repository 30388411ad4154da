#include "collect/inside/slot_sharing.h"

#include <string.h>

#include "collect/inside/profile_slot.h"
#include "collect/inside/tracer.h"

/* The profile function and its object in the thread state; between them lies the trace function. */
struct slot {
    interpreter_profile_function *function;
    void *trace_function;
    PyObject *object;
};

#define STATE_WORDS 64 /* where to look for the slot in the thread state */

static bool is_watching;
static interpreter_profile_function *their_function; /* what the program set in the main thread */

static size_t slot_offset; /* of the slot in a thread state; 0 = not found */

static struct slot *slot_of(PyThreadState *state)
{
    return (struct slot *)(void *)((char *)state + slot_offset);
}

/* The slot lies where our own function is, once it has been set. */
static void find_slot(PyThreadState *state)
{
    for (size_t i = 1; i + 2 < STATE_WORDS && !slot_offset; i++) {
        const struct slot *slot = (const struct slot *)(void *)((void **)state + i);
        if (profile_slot_is_ours(slot->function))
            slot_offset = i * sizeof(void *);
    }
}

/* Runs in the main thread just after the slot was set by somebody else. */
static int take_back(void *unused)
{
    (void)unused;
    const struct slot *slot = slot_of(PyThreadState_Get());
    if (!profile_slot_is_active() || profile_slot_is_ours(slot->function))
        return 0;
    their_function = slot->function;
    PyObject *object = slot->object;
    Py_XINCREF(object);
    /* The return of the C function that set the slot went to the other profiler alone. */
    tracer_leave_c_calls();
    profile_slot_take(object);
    Py_XDECREF(object);
    return 0;
}

static int on_audit_event(const char *event, PyObject *arguments, void *context)
{
    (void)arguments, (void)context;
    if (strcmp(event, "sys.setprofile") != 0 || profile_slot_is_setting() || !profile_slot_is_active())
        return 0;
    if (tracer_in_main_thread())
        Py_AddPendingCall(take_back, NULL);
    else
        tracer_note(
            "the program has set a profile function of its own in another thread than the main one; later "
            "calls of that thread are missing");
    return 0;
}

static void watch(void)
{
    if (is_watching || !profile_slot_is_active())
        return;
    is_watching = true;
    int (*add_hook)(int (*)(const char *, PyObject *, void *), void *);
    *(void **)&add_hook = interpreter_find("PySys_AddAuditHook");
    find_slot(PyThreadState_Get());
    if (slot_offset && add_hook && add_hook(on_audit_event, NULL) < 0)
        PyErr_Clear();
}

void slot_sharing_notice(const char *file)
{
    const char *slash = strrchr(file, '/');
    if (slash && strcmp(slash, "/cProfile.py") == 0)
        watch();
}

void slot_sharing_begin(void)
{
    PyObject *modules = PyImport_GetModuleDict();
    if (tracer.agent || (modules && PyDict_GetItemString(modules, "cProfile")))
        watch();
}

int slot_sharing_pass_on(PyObject *object, PyFrameObject *frame, int what, PyObject *argument)
{
    return their_function ? their_function(object, frame, what, argument) : 0;
}
