#include "collect/inside/line_requests.h"

#include <string.h>

#include "collect/agent/agent.h"
#include "collect/agent/arena.h"
#include "collect/inside/line_profile.h"
#include "collect/inside/line_session.h"

static const struct arena *arena;
static uint32_t taken; /* requests that code is compared with */
static bool found[ARENA_REQUESTS];

static uint64_t request_of(PyObject *code)
{
    PyObject *file = interpreter_attribute_utf8(code, "co_filename"),
             *name = interpreter_attribute_utf8(code, "co_name");
    PyObject *line = interpreter_attribute(code, "co_firstlineno");
    uint64_t request = 0;
    if (file && name && line)
        request =
            arena_request(PyBytes_AsString(file), PyBytes_AsString(name), (uint32_t)PyLong_AsLong(line));
    Py_XDECREF(line);
    Py_XDECREF(name);
    Py_XDECREF(file);
    PyErr_Clear();
    return request;
}

bool line_requests_match(PyObject *code)
{
    if (!taken || !arena)
        return false;
    uint64_t request = request_of(code);
    for (uint32_t i = 0; i < taken; i++)
        if (arena->requests[i] == request)
            return found[i] = true;
    return false;
}

bool line_requests_are_open(void)
{
    for (uint32_t i = 0; i < taken; i++)
        if (!found[i])
            return true;
    return false;
}

static void take_frame(PyObject *frame)
{
    PyObject *code = (PyObject *)interpreter.frame_code((PyFrameObject *)frame);
    if (line_requests_match(code))
        line_session_choose_running(code, frame);
    Py_DECREF(code);
}

/* Runs in the main thread. A program that has named functions itself wants no others. */
static int take(void *unused)
{
    (void)unused;
    uint32_t count = arena ? __atomic_load_n(&arena->request_count, __ATOMIC_ACQUIRE) : 0;
    if (count > ARENA_REQUESTS)
        count = ARENA_REQUESTS;
    if (count <= taken || line_profile_was_used())
        return 0;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    taken = count;
    interpreter_each_frame(take_frame);
    line_session_look_again();
    PyErr_Restore(type, value, traceback);
    return 0;
}

/* Called by a signal handler, which comes while exit functions run, too: mpi4py ends MPI when the interpreter is gone. */
static int add_call(void)
{
    return Py_IsInitialized() ? Py_AddPendingCall(take, NULL) : 0;
}

void line_requests_begin(const struct agent *agent, const struct arena *given)
{
    agent->watch(NULL, NULL);
    arena = given;
    taken = 0;
    memset(found, 0, sizeof found);
    if (given)
        agent->watch(&given->request_count, add_call);
}
