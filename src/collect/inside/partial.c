#include "collect/inside/partial.h"

#include <stdlib.h>
#include <string.h>

#include "collect/agent/agent.h"
#include "collect/agent/event_area.h"
#include "collect/inside/events.h"
#include "collect/inside/finder.h"
#include "collect/inside/line_session.h"
#include "collect/inside/tracer.h"

/* A pass of a region or a mark. */
struct place {
    uint32_t region, mark;      /* their names' ids; 0 = none is wanted */
    enum event_kind region_end; /* at which end of the region it is */
    uint64_t to_go;             /* passes, this one included; 0 = it has been passed */
};

static struct {
    const struct agent *agent; /* NULL = nobody records, or all of it */
    struct trace *trace;
    bool by_profilers;
    uint32_t enabled;  /* profilers */
    uint64_t to_skip;  /* times that the first of them is enabled */
    bool skips;        /* this time */
    bool is_recording; /* now */
    struct place start, stop;
    bool ends;                             /* at `stop` */
    PyThreadState *(*current_state)(void); /* of the thread that holds the lock; NULL = none */
} partial;

static bool is_between(void)
{
    bool started = !__atomic_load_n(&partial.start.to_go, __ATOMIC_ACQUIRE);
    return started && !(partial.ends && !__atomic_load_n(&partial.stop.to_go, __ATOMIC_ACQUIRE));
}

static bool is_wanted(void)
{
    return is_between() && (!partial.by_profilers || (partial.enabled && !partial.skips));
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

/* ---- profilers ---- */

static void enable(void)
{
    if (!partial.agent || partial.enabled++)
        return;
    partial.skips = partial.to_skip > 0 && is_between();
    partial.to_skip -= partial.skips;
    update();
}

static void disable(void)
{
    if (!partial.agent || !partial.enabled || --partial.enabled)
        return;
    update();
}

/* ---- places ---- */

static int take_up(void *unused)
{
    (void)unused;
    update();
    return 0;
}

/* PyGILState_Check says so always, once there are subinterpreters. */
static bool has_lock(void)
{
    PyThreadState *state = partial.current_state ? partial.current_state() : NULL;
    return state && state == PyGILState_GetThisThreadState();
}

/* Whether this pass was the one. */
static bool pass(struct place *place, uint32_t kind, uint32_t name)
{
    bool is_there = name && ((kind == EVENT_MARK && name == place->mark) ||
                             (kind == (uint32_t)place->region_end && name == place->region));
    uint64_t to_go = is_there ? __atomic_load_n(&place->to_go, __ATOMIC_RELAXED) : 0;
    while (to_go && !__atomic_compare_exchange_n(&place->to_go, &to_go, to_go - 1, true, __ATOMIC_ACQ_REL,
                                                 __ATOMIC_RELAXED))
        ;
    return to_go == 1;
}

static void passed(uint32_t kind, uint32_t name)
{
    bool started = pass(&partial.start, kind, name), stopped = pass(&partial.stop, kind, name);
    if (!started && !stopped)
        return;
    if (has_lock())
        update();
    else if (Py_IsInitialized()) /* C code has regions, too, when the interpreter is gone */
        Py_AddPendingCall(take_up, NULL);
}

/* "NAME#N", or "NAME" for the first. */
static void parse(struct place *place, const char *text, enum event_kind region_end)
{
    const char *hash = strrchr(text, '#');
    char *end = NULL;
    unsigned long long number = hash && hash[1] ? strtoull(hash + 1, &end, 10) : 0;
    bool numbered = number && !*end;
    size_t bytes = numbered ? (size_t)(hash - text) : strlen(text);
    *place = (struct place){
        .region = events_name(EVENTS_REGION, text, bytes),
        .mark = events_name(EVENTS_MARK, text, bytes),
        .region_end = region_end,
        .to_go = numbered ? number : 1,
    };
}

static void find_places(const struct session *session)
{
    if (session->start_at)
        parse(&partial.start, session->start_at, EVENT_BEGIN);
    if (session->start_at && !session->partial)
        partial.start.to_go += session->skip_first;
    if (session->stop_at)
        parse(&partial.stop, session->stop_at, EVENT_END);
    partial.ends = session->stop_at;
    *(void **)&partial.current_state = interpreter_find("_PyThreadState_UncheckedGet");
    if (!partial.current_state)
        *(void **)&partial.current_state = interpreter_find("PyThreadState_GetUnchecked");
    if (session->start_at || session->stop_at)
        partial.agent->watch_zones(passed);
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
    find_places(session);
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
