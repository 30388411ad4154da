#include "collect/inside/partial.h"

#include "collect/agent/agent.h"
#include "collect/inside/finder.h"
#include "collect/inside/line_session.h"
#include "collect/inside/tracer.h"

static struct {
    const struct agent *agent; /* NULL = nobody records, or all of it */
    struct trace *trace;
    bool by_profilers;
    uint32_t enabled;  /* profilers */
    uint64_t to_skip;  /* times that the first of them is enabled */
    bool skips;        /* this time */
    bool is_recording; /* now */
} partial;

static bool is_wanted(void)
{
    return !partial.by_profilers || (partial.enabled && !partial.skips);
}

static void update(void)
{
    char why[200];
    bool wanted = is_wanted();
    if (wanted == partial.is_recording)
        return;
    partial.is_recording = wanted;
    /* Calls are the first that end and the last that begin: what the others do is not the program's. */
    if (partial.trace && !wanted)
        tracer_end(partial.trace);
    partial.agent->rest(!wanted);
    if (partial.agent->session->lines)
        line_session_rest(!wanted);
    if (partial.trace && wanted)
        tracer_begin(partial.trace, why, sizeof why); /* it could at the program's start */
}

static void enable(void)
{
    if (!partial.agent || partial.enabled++)
        return;
    partial.skips = partial.to_skip > 0;
    partial.to_skip -= partial.skips;
    update();
}

static void disable(void)
{
    if (!partial.agent || !partial.enabled || --partial.enabled)
        return;
    update();
}

void partial_start(const struct agent *agent, struct trace *trace)
{
    const struct session *session = agent->session;
    if (!session_begins_at_rest(session) && !session->stop_at)
        return;
    partial.agent = agent;
    partial.trace = trace;
    partial.by_profilers = session->partial;
    partial.to_skip = session->skip_first;
    partial.is_recording = true;
    finder_install();
    update();
}

/* ---- for Python ---- */

struct lever {
    PyObject base;
    void (*pull)(void);
    PyObject *owner; /* whose method it is, and what it gives back: so __enter__ does; NULL = nobody's */
};

static PyObject *new_lever(PyTypeObject *type, void (*pull)(void), PyObject *owner)
{
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    struct lever *lever = (struct lever *)allocate(type, 0);
    if (!lever)
        return NULL;
    Py_XINCREF(owner);
    lever->pull = pull;
    lever->owner = owner;
    return (PyObject *)lever;
}

/* With whatever arguments: __exit__ is told of exceptions. */
static PyObject *lever_call(PyObject *self, PyObject *arguments, PyObject *names)
{
    struct lever *lever = (struct lever *)self;
    (void)arguments, (void)names;
    lever->pull();
    PyObject *result = lever->owner && lever->pull == enable ? lever->owner : Py_None;
    Py_INCREF(result);
    return result;
}

static PyObject *lever_bind(PyObject *self, PyObject *owner, PyObject *type)
{
    (void)type;
    if (owner)
        return new_lever(Py_TYPE(self), ((struct lever *)self)->pull, owner);
    Py_INCREF(self);
    return self;
}

static void lever_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    Py_XDECREF(((struct lever *)self)->owner);
    release(self);
    Py_DECREF(type);
}

static int add_lever(PyObject *module, PyTypeObject *type, const char *name, void (*pull)(void))
{
    PyObject *lever = new_lever(type, pull, NULL);
    if (!lever)
        return -1;
    int result = PyModule_AddObject(module, name, lever);
    if (result < 0)
        Py_DECREF(lever);
    return result;
}

int partial_add(PyObject *module)
{
    static PyType_Slot slots[] = {
        {Py_tp_call, lever_call},
        {Py_tp_descr_get, lever_bind},
        {Py_tp_dealloc, lever_free},
        {0, NULL},
    };
    static PyType_Spec spec = {.name = "sonde._inside.lever",
                               .basicsize = sizeof(struct lever),
                               .flags = Py_TPFLAGS_DEFAULT,
                               .slots = slots};
    PyObject *type = PyType_FromSpec(&spec);
    if (!type)
        return -1;
    int result = add_lever(module, (PyTypeObject *)type, "profiler_on", enable);
    if (result == 0)
        result = add_lever(module, (PyTypeObject *)type, "profiler_off", disable);
    Py_DECREF(type);
    return result;
}
