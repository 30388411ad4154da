#include "collect/inside/slot_sharing.h"

#include <string.h>

#include "collect/inside/profile_slot.h"
#include "collect/inside/setprofile.h"
#include "collect/inside/thread_slot.h"
#include "collect/inside/tracer.h"

static bool is_watching;
/* What the program set in the thread; and whether it does so just now, by a function that takes care of it. */
static __thread interpreter_profile_function *their_function __attribute__((tls_model("initial-exec")));
static __thread bool is_taken_care_of __attribute__((tls_model("initial-exec")));

/* The slot of this thread was set by somebody else: ours again, with a share for them. */
static void take_over(bool was_shared)
{
    const struct thread_slot *slot = thread_slot_of(PyThreadState_Get());
    PyObject *object = slot->object;
    their_function = slot->function;
    if (!was_shared)
        setprofile_begin();
    Py_XINCREF(object);
    profile_slot_take(object);
    Py_XDECREF(object);
}

/* Runs in the main thread just after the slot was set by C code such as cProfile's. */
static int take_back(void *unused)
{
    (void)unused;
    const struct thread_slot *slot = thread_slot_of(PyThreadState_Get());
    if (!profile_slot_is_active() || profile_slot_is_ours(slot->function))
        return 0;
    /* The return of the C function that set the slot went to the other profiler alone. */
    tracer_leave_c_calls();
    take_over(false);
    return 0;
}

static int on_audit_event(const char *event, PyObject *arguments, void *context)
{
    (void)arguments, (void)context;
    if (strcmp(event, "sys.setprofile") != 0 || profile_slot_is_setting() || is_taken_care_of ||
        !profile_slot_is_active())
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
    if (thread_slot_of(PyThreadState_Get()) && add_hook && add_hook(on_audit_event, NULL) < 0)
        PyErr_Clear();
}

void slot_sharing_notice(const char *file)
{
    const char *slash = strrchr(file, '/');
    if (slash && strcmp(slash, "/cProfile.py") == 0)
        watch();
}

void slot_sharing_begin(interpreter_profile_function *ours)
{
    thread_slot_find_function(PyThreadState_Get(), ours);
    setprofile_watch();
    PyObject *modules = PyImport_GetModuleDict();
    if (tracer.agent || (modules && PyDict_GetItemString(modules, "cProfile")))
        watch();
}

PyObject *slot_sharing_set(PyCFunction real, PyObject *self, PyObject *function)
{
    struct thread_slot *slot = thread_slot_of(PyThreadState_Get());
    if (!profile_slot_is_active() || !slot || !profile_slot_is_ours(slot->function))
        return real(self, function);
    bool was_shared = slot->object != NULL;
    is_taken_care_of = true;
    PyObject *result = real(self, function);
    is_taken_care_of = false;
    if (result)
        take_over(was_shared);
    return result;
}

int slot_sharing_pass_on(PyObject *object, PyFrameObject *frame, int what, PyObject *argument)
{
    return their_function && setprofile_wants(what) ? their_function(object, frame, what, argument) : 0;
}
