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

/* The slot lies where our own function and marker are, once they have been set. */
static struct slot *find_slot(PyThreadState *state)
{
    void **words = (void **)state;
    for (size_t i = 0; i + 2 < STATE_WORDS; i++) {
        struct slot *slot = (struct slot *)(void *)&words[i];
        if (profile_slot_is_ours(slot->function, slot->object))
            return slot;
    }
    return NULL;
}

static struct slot *slot_in_state;

/* Runs in the main thread just after the slot was set by somebody else. */
static int take_back(void *unused)
{
    (void)unused;
    if (!slot_in_state || profile_slot_is_ours(slot_in_state->function, slot_in_state->object))
        return 0;
    PyObject *before = theirs.object;
    theirs = *slot_in_state;
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
    if (strcmp(event, "sys.setprofile") == 0 && !profile_slot_is_setting() && slot_in_state)
        Py_AddPendingCall(take_back, NULL);
    return 0;
}

void slot_sharing_notice(const char *file)
{
    const char *slash = strrchr(file, '/');
    if (is_watching || !slash || strcmp(slash, "/cProfile.py") != 0 || !profile_slot_is_active())
        return;
    is_watching = true;
    int (*add_hook)(int (*)(const char *, PyObject *, void *), void *);
    *(void **)&add_hook = interpreter_find("PySys_AddAuditHook");
    slot_in_state = add_hook ? find_slot(PyThreadState_Get()) : NULL;
    if (slot_in_state && add_hook(on_audit_event, NULL) < 0)
        PyErr_Clear();
}

int slot_sharing_pass_on(PyFrameObject *frame, int what, PyObject *argument)
{
    return theirs.function ? theirs.function(theirs.object, frame, what, argument) : 0;
}
