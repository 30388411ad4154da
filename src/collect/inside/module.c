/* module: the extension `sonde._inside`, and its entry for the agent in a launched program. */
#include <dlfcn.h>
#include <stdio.h>

#include "collect/agent/agent.h"
#include "collect/inside/events.h"
#include "collect/inside/finder.h"
#include "collect/inside/line_memory_type.h"
#include "collect/inside/line_session.h"
#include "collect/inside/line_session_type.h"
#include "collect/inside/marks.h"
#include "collect/inside/memory_attach.h"
#include "collect/inside/memory_marks.h"
#include "collect/inside/memory_region_type.h"
#include "collect/inside/partial.h"
#include "collect/inside/session_type.h"
#include "collect/inside/timers.h"
#include "collect/inside/tracer.h"

static struct trace launched_trace;

__attribute__((visibility("default"))) agent_start sonde_inside_start;

static int start_trace(const struct agent *agent, char *why, size_t why_bytes)
{
    const struct session *session = agent->session;
    const struct trace_settings settings = {
        .c_calls = session->c_calls,
        .throttle = session->throttle,
        .depth = session->depth,
        .include = session->include,
        .exclude = session->exclude,
        .exclude_library = session->exclude_library,
    };
    struct arena *arena = agent->open_arena(interpreter.version, SESSION_HELLO);
    if (!arena) {
        snprintf(why, why_bytes,
                 "no shared memory could be had for the recording (the limits of ulimit -f and -v count)");
        return -1;
    }
    if (trace_init(&launched_trace, arena, true, &settings, why, why_bytes) < 0)
        return -1;
    tracer.agent = agent;
    return tracer_begin(&launched_trace, why, why_bytes);
}

static void before_fork(void)
{
    tracer_before_fork();
    line_session_before_fork();
}

static void after_fork(void)
{
    tracer_after_fork();
    line_session_after_fork();
}

int sonde_inside_start(const struct agent *agent, char *why, size_t why_bytes)
{
    if (agent->version != AGENT_VERSION) {
        snprintf(why, why_bytes, "the agent and the extension are of different versions of sonde");
        return -1;
    }
    if (interpreter_init(why, why_bytes) < 0)
        return -1;
    agent->call_at_fork(before_fork, after_fork);
    finder_init(agent->session->package);
    /* Lines first: what they try out is not the program's, and no call of it is to be counted. */
    if (agent->session->lines && line_session_start(agent, why, why_bytes) < 0)
        return -1;
    if (marks_start(agent, why, why_bytes) < 0)
        return -1;
    if (agent->session->trace && start_trace(agent, why, why_bytes) < 0)
        return -1;
    if (agent->session->resident_regions)
        memory_marks_install();
    partial_start(agent, agent->session->trace ? &launched_trace : NULL);
    return 0;
}

static PyObject *flush(PyObject *self, PyObject *seconds)
{
    (void)self;
    double patience = PyFloat_AsDouble(seconds);
    if (patience == -1.0 && PyErr_Occurred())
        return NULL;
    const struct agent *agent = dlsym(RTLD_DEFAULT, AGENT_SYMBOL); /* NULL = nobody records this program */
    PyThreadState *state = PyEval_SaveThread();
    bool done = agent && agent->version == AGENT_VERSION && agent->session->socket &&
                agent->flush((int)(patience * 1000));
    PyEval_RestoreThread(state);
    return PyBool_FromLong(done);
}

static PyMethodDef functions[] = {
    {"attach_memory", memory_attach_begin, METH_O,
     "attach_memory(settings)\n\nCounts the allocations of this process for the recorder that the settings "
     "name."},
    {"flush", flush, METH_O,
     "flush(seconds)\n\nHas the recorder of this program write what it was told so far, and waits for it: "
     "whether it has."},
    {"detach_memory", memory_attach_end, METH_NOARGS, "detach_memory()\n\nDoes so no more."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_inside",
    .m_doc = "The collector inside the program: calls, lines and memory.",
    .m_size = -1,
    .m_methods = functions,
};

PyMODINIT_FUNC PyInit__inside(void)
{
    PyObject *module = PyModule_Create(&definition);
    if (module && (session_type_add(module) < 0 || line_session_type_add(module) < 0 ||
                   line_memory_type_add(module) < 0 || memory_region_type_add(module) < 0 ||
                   events_add(module) < 0 || timers_add(module) < 0 || partial_add(module) < 0))
        Py_CLEAR(module);
    return module;
}
