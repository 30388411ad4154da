/* module: the extension `sonde._inside`, and its entry for the agent in a launched program. */
#include <stdio.h>

#include "collect/agent/agent.h"
#include "collect/inside/finder.h"
#include "collect/inside/session_type.h"
#include "collect/inside/tracer.h"

static struct trace launched_trace;

__attribute__((visibility("default"))) agent_start sonde_inside_start;

int sonde_inside_start(const struct agent *agent, char *why, size_t why_bytes)
{
    if (agent->version != AGENT_VERSION) {
        snprintf(why, why_bytes, "the agent and the extension are of different versions of sonde");
        return -1;
    }
    if (interpreter_init(why, why_bytes) < 0)
        return -1;
    const struct session *session = agent->session;
    const struct trace_settings settings = {
        .c_calls = session->c_calls,
        .throttle = session->throttle,
        .depth = session->depth,
        .include = session->include,
        .exclude = session->exclude,
        .exclude_library = session->exclude_library,
    };
    struct arena *arena = agent->open_arena(interpreter.version);
    if (!arena) {
        snprintf(why, why_bytes,
                 "no shared memory could be had for the recording (the limits of ulimit -f and -v count)");
        return -1;
    }
    if (trace_init(&launched_trace, arena, true, &settings, why, why_bytes) < 0)
        return -1;
    tracer.agent = agent;
    agent->call_at_fork(tracer_before_fork, tracer_after_fork);
    finder_init(session->package);
    return tracer_begin(&launched_trace, why, why_bytes);
}

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_inside",
    .m_doc = "The collector inside the program: calls.",
    .m_size = -1,
};

PyMODINIT_FUNC PyInit__inside(void)
{
    PyObject *module = PyModule_Create(&definition);
    if (module && session_type_add(module) < 0)
        Py_CLEAR(module);
    return module;
}
