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
static struct slot theirs; /* what the program set; function NULL = nothing. The object is a reference. */

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
    PyObject *before = theirs.object;
    theirs = *slot;
    Py_XINCREF(theirs.object);
    Py_XDECREF(before);
    /* The return of the C function that set the slot went to the other profiler alone. */
    tracer_leave_c_calls();
    profile_slot_take(theirs.function != NULL);
    return 0;
}

static int on_audit_event(const char *event, PyObject *arguments, void *context)
{
    (void)arguments, (void)context;
    if (strcmp(event, "sys.setprofile") == 0 && !profile_slot_is_setting())
        Py_AddPendingCall(take_back, NULL);
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
    if (modules && PyDict_GetItemString(modules, "cProfile"))
        watch();
}

int slot_sharing_pass_on(PyFrameObject *frame, int what, PyObject *argument)
{
    return theirs.function ? theirs.function(theirs.object, frame, what, argument) : 0;
}
