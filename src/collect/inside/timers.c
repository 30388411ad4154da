#include "collect/inside/timers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <structmember.h>

#include "base/clock.h"
#include "base/rank.h"
#include "collect/inside/context_place.h"
#include "collect/inside/events.h"

/* Time by our clock, or by the program's own. */
struct span {
    uint64_t ns;
    double s;
};

/* Who is in a timer: a task of a thread. */
struct owner {
    const void *thread, *context;
};

/* A timer that is entered: by whom, how often without having been left, and since when. */
struct open_timer {
    struct owner owner;
    uint32_t depth;
    uint64_t start_ns;
    double start_s; /* by a clock of the program's own */
};

#define OPEN_INLINE 2 /* more than so many threads or tasks at a time are rare */

struct timer {
    PyObject base;
    PyObject *name;
    PyObject *clock; /* the program's own; NULL = ours */
    uint32_t region; /* of the recording that is being made; 0 = not asked for yet, or none */
    uint64_t calls;  /* that have ended */
    struct span total;
    struct open_timer first[OPEN_INLINE], *open;
    uint32_t open_count, open_capacity;
    bool listed; /* it was asked for by name, or entered, since all were reset */
};

/* `owners` are those of the entries that were not left yet, the last entered first left. One for nearly all. */
struct region {
    PyObject base;
    struct timer *timer;
    struct owner first, *owners;
    uint32_t count, capacity;
};

static PyTypeObject *timer_type, *region_type;
static allocfunc allocate_timer, allocate_region;
static bool off;
static PyObject *timers; /* name → timer: all that there ever were */

static double seconds(struct span span)
{
    return (double)span.ns * 1e-9 + span.s;
}

static struct owner current_owner(void)
{
    static __thread char here;
    return (struct owner){&here, context_place_current()};
}

static bool is_same(struct owner a, struct owner b)
{
    return a.thread == b.thread && a.context == b.context;
}

/* The last one of that owner; NULL = none. */
static struct open_timer *find_open(struct timer *timer, struct owner owner)
{
    for (uint32_t i = timer->open_count; i-- > 0;)
        if (is_same(timer->open[i].owner, owner))
            return &timer->open[i];
    return NULL;
}

/* Room for one more element of `size` bytes in an array that begins in its owner. False without memory. */
static bool grow(void **array, void *inlined, uint32_t count, uint32_t *capacity, size_t size)
{
    if (count < *capacity)
        return true;
    void *grown = PyMem_Realloc(*array == inlined ? NULL : *array, (size_t)*capacity * 2 * size);
    if (!grown)
        return false;
    if (*array == inlined)
        memcpy(grown, inlined, count * size);
    *array = grown;
    *capacity *= 2;
    return true;
}

/* 0, or -1 with an exception of the program's own clock. */
static int read_clock(const struct timer *timer, double *now_s)
{
    PyObject *value = PyObject_CallObject(timer->clock, NULL);
    *now_s = value ? PyFloat_AsDouble(value) : -1.0;
    Py_XDECREF(value);
    return *now_s == -1.0 && PyErr_Occurred() ? -1 : 0;
}

/* ---- regions of a recording ---- */

static void begin_region(struct timer *timer, struct owner owner)
{
    if (!timer->region)
        timer->region = events_name_of(EVENTS_REGION, timer->name);
    events_begin_for(timer->region, (uintptr_t)owner.context);
}

static void end_region(const struct timer *timer, struct owner owner)
{
    events_end_for(timer->region, (uintptr_t)owner.context);
}

/* ---- entering and leaving ---- */

static int enter(struct timer *timer, struct owner owner)
{
    struct open_timer *open = find_open(timer, owner);
    struct open_timer new = {.owner = owner, .depth = 1};
    timer->listed = true;
    if (open) {
        open->depth++;
        if (events_on())
            begin_region(timer, owner);
        return 0;
    }
    if (timer->clock && read_clock(timer, &new.start_s) < 0)
        return -1;
    if (!grow((void **)&timer->open, timer->first, timer->open_count, &timer->open_capacity,
              sizeof *timer->open)) {
        PyErr_NoMemory();
        return -1;
    }
    new.start_ns = clock_monotonic_ns();
    timer->open[timer->open_count++] = new;
    if (events_on())
        begin_region(timer, owner);
    return 0;
}

/* What has passed since it was first entered. 0, or -1 with an exception. */
static int measure(const struct timer *timer, const struct open_timer *open, struct span *span)
{
    double now_s = 0;
    *span = (struct span){.ns = timer->clock ? 0 : clock_monotonic_ns() - open->start_ns};
    if (timer->clock && read_clock(timer, &now_s) < 0)
        return -1;
    span->s = timer->clock ? now_s - open->start_s : 0;
    return 0;
}

/* Counts the call, and the time when nobody is in it further out. */
static int leave(struct timer *timer, struct open_timer *open, struct span *span)
{
    if (measure(timer, open, span) < 0)
        return -1;
    timer->calls++;
    if (events_on())
        end_region(timer, open->owner);
    if (--open->depth)
        return 0;
    timer->total.ns += span->ns;
    timer->total.s += span->s;
    *open = timer->open[--timer->open_count];
    return 0;
}

static struct timer *as_timer(PyObject *object)
{
    return (struct timer *)object;
}

/* ---- sonde.Timer ---- */

/* A new reference to the one of that name, made if need be. */
static PyObject *timer_named(PyObject *name, PyObject *clock)
{
    PyObject *found = PyDict_GetItemWithError(timers, name);
    if (found || PyErr_Occurred()) {
        Py_XINCREF(found);
        return found;
    }
    struct timer *timer = as_timer(allocate_timer(timer_type, 0));
    if (!timer)
        return NULL;
    Py_INCREF(name);
    Py_XINCREF(clock);
    timer->name = name;
    timer->clock = clock;
    timer->open = timer->first;
    timer->open_capacity = OPEN_INLINE;
    if (PyDict_SetItem(timers, name, &timer->base) < 0) {
        Py_DECREF(&timer->base);
        return NULL;
    }
    return &timer->base;
}

static PyObject *timer_new(PyTypeObject *type, PyObject *arguments, PyObject *names)
{
    static char *keywords[] = {"name", "timer", NULL};
    PyObject *name = Py_None, *clock = Py_None;
    (void)type;
    if (!PyArg_ParseTupleAndKeywords(arguments, names, "|OO:Timer", keywords, &name, &clock))
        return NULL;
    if (name != Py_None)
        Py_INCREF(name);
    else
        name = PyUnicode_FromFormat("timer%zd", PyDict_Size(timers));
    if (name && !PyUnicode_Check(name)) {
        PyErr_SetString(PyExc_TypeError, "a timer's name is text");
        Py_CLEAR(name);
    }
    PyObject *timer = name ? timer_named(name, clock == Py_None ? NULL : clock) : NULL;
    Py_XDECREF(name);
    if (timer)
        as_timer(timer)->listed = !off;
    return timer;
}

static void timer_dealloc(PyObject *object)
{
    struct timer *timer = as_timer(object);
    PyTypeObject *type = Py_TYPE(object);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    Py_XDECREF(timer->name);
    Py_XDECREF(timer->clock);
    if (timer->open != timer->first)
        PyMem_Free(timer->open);
    release(object);
    Py_DECREF(type);
}

static PyObject *timer_start(PyObject *self, PyObject *unused)
{
    (void)unused;
    if (!off && enter(as_timer(self), current_owner()) < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* The one that this task has started, or else the last that anybody has: it may be stopped elsewhere. */
static struct open_timer *find_started(struct timer *timer)
{
    struct open_timer *open = find_open(timer, current_owner());
    if (!open && timer->open_count)
        open = &timer->open[timer->open_count - 1];
    if (!open)
        PyErr_Format(PyExc_RuntimeError, "Timer %U has not been started", timer->name);
    return open;
}

static PyObject *timer_stop(PyObject *self, PyObject *unused)
{
    struct span span = {0};
    (void)unused;
    if (off)
        return PyFloat_FromDouble(0);
    struct open_timer *open = find_started(as_timer(self));
    return open && leave(as_timer(self), open, &span) == 0 ? PyFloat_FromDouble(seconds(span)) : NULL;
}

static PyObject *timer_add(PyObject *self, PyObject *value)
{
    double s = PyFloat_AsDouble(value);
    if (s == -1.0 && PyErr_Occurred())
        return NULL;
    as_timer(self)->total.s += off ? 0 : s;
    as_timer(self)->calls += !off;
    as_timer(self)->listed = !off;
    Py_RETURN_NONE;
}

static PyObject *timer_reset(PyObject *self, PyObject *unused)
{
    struct timer *timer = as_timer(self);
    (void)unused;
    timer->calls = 0;
    timer->total = (struct span){0};
    Py_RETURN_NONE;
}

static PyObject *timer_elapsed(PyObject *self, void *unused)
{
    struct span span;
    (void)unused;
    if (off)
        return PyFloat_FromDouble(0);
    const struct open_timer *open = find_started(as_timer(self));
    return open && measure(as_timer(self), open, &span) == 0 ? PyFloat_FromDouble(seconds(span)) : NULL;
}

static PyObject *timer_total(PyObject *self, void *unused)
{
    (void)unused;
    return PyFloat_FromDouble(seconds(as_timer(self)->total));
}

static PyObject *timer_average(PyObject *self, void *unused)
{
    const struct timer *timer = as_timer(self);
    (void)unused;
    return PyFloat_FromDouble(timer->calls ? seconds(timer->total) / (double)timer->calls : (double)NAN);
}

static PyObject *timer_repr(PyObject *self)
{
    const struct timer *timer = as_timer(self);
    PyObject *total = timer_total(self, NULL);
    PyObject *text = total ? PyUnicode_FromFormat("<sonde.Timer %R: %R s in %llu calls>", timer->name, total,
                                                  (unsigned long long)timer->calls)
                           : NULL;
    Py_XDECREF(total);
    return text;
}

static int add_timer_type(PyObject *module)
{
    static PyMethodDef methods[] = {
        {"start", timer_start, METH_NOARGS, "Start the timer; more than once: its time counts once."},
        {"stop", timer_stop, METH_NOARGS, "Stop the timer; the seconds since its start."},
        {"add", timer_add, METH_O, "Add a call of so many seconds that was measured elsewhere."},
        {"reset", timer_reset, METH_NOARGS, "Forget what was counted."},
        {NULL, NULL, 0, NULL},
    };
    static PyMemberDef members[] = {
        {"name", T_OBJECT, offsetof(struct timer, name), READONLY, "What it is called."},
        {"ncalls", T_ULONGLONG, offsetof(struct timer, calls), READONLY, "How many calls have ended."},
        {NULL, 0, 0, 0, NULL},
    };
    static PyGetSetDef values[] = {
        {"elapsed", timer_elapsed, NULL, "Seconds since its start, while it runs.", NULL},
        {"total", timer_total, NULL, "Seconds of all calls.", NULL},
        {"average", timer_average, NULL, "Seconds of a call; nan when there was none.", NULL},
        {NULL, NULL, NULL, NULL, NULL},
    };
    static PyType_Slot slots[] = {
        {Py_tp_new, timer_new},
        {Py_tp_dealloc, timer_dealloc},
        {Py_tp_methods, methods},
        {Py_tp_members, members},
        {Py_tp_getset, values},
        {Py_tp_repr, timer_repr},
        {Py_tp_doc, "Timer(name=None, timer=None): the timer of that name; timer() gives seconds."},
        {0, NULL},
    };
    static PyType_Spec spec = {.name = "sonde.Timer",
                               .basicsize = sizeof(struct timer),
                               .flags = Py_TPFLAGS_DEFAULT,
                               .slots = slots};
    timer_type = (PyTypeObject *)PyType_FromSpec(&spec);
    Py_XINCREF(timer_type);
    return timer_type ? PyModule_AddObject(module, "Timer", (PyObject *)timer_type) : -1;
}

/* ---- sonde.timed_region ---- */

/* While timers do nothing, one region serves all. */
static PyObject *no_region(void)
{
    static PyObject *nothing;
    if (!nothing)
        nothing = allocate_region(region_type, 0);
    Py_XINCREF(nothing);
    return nothing;
}

static PyObject *timed_region(PyObject *module, PyObject *name)
{
    (void)module;
    if (!PyUnicode_Check(name)) {
        PyErr_SetString(PyExc_TypeError, "a region's name is text");
        return NULL;
    }
    if (off)
        return no_region();
    PyObject *timer = timer_named(name, NULL);
    struct region *region = timer ? (struct region *)allocate_region(region_type, 0) : NULL;
    if (!region) {
        Py_XDECREF(timer);
        return NULL;
    }
    region->timer = as_timer(timer);
    region->owners = &region->first;
    region->capacity = 1;
    return &region->base;
}

static void region_dealloc(PyObject *object)
{
    struct region *region = (struct region *)object;
    PyTypeObject *type = Py_TYPE(object);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    Py_XDECREF((PyObject *)region->timer);
    if (region->owners != &region->first)
        PyMem_Free(region->owners);
    release(object);
    Py_DECREF(type);
}

static PyObject *region_enter(PyObject *self, PyObject *unused)
{
    struct region *region = (struct region *)self;
    (void)unused;
    Py_INCREF(self);
    if (off)
        return self;
    struct owner owner = current_owner();
    if (!grow((void **)&region->owners, &region->first, region->count, &region->capacity,
              sizeof *region->owners)) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    if (enter(region->timer, owner) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    region->owners[region->count++] = owner;
    return self;
}

/* A region that several tasks are in at the same time is left by the one that entered it. */
static struct owner take_owner(struct region *region)
{
    struct owner owner = current_owner();
    uint32_t place = region->count - 1;
    for (uint32_t i = region->count; i-- > 0;)
        if (is_same(region->owners[i], owner)) {
            place = i;
            break;
        }
    owner = region->owners[place];
    region->count--;
    memmove(&region->owners[place], &region->owners[place + 1],
            (region->count - place) * sizeof *region->owners);
    return owner;
}

static PyObject *region_exit(PyObject *self, PyObject *unused)
{
    struct region *region = (struct region *)self;
    (void)unused;
    if (off)
        Py_RETURN_NONE;
    if (!region->count) {
        PyErr_Format(PyExc_RuntimeError, "region %U was not entered", region->timer->name);
        return NULL;
    }
    struct open_timer *open = find_open(region->timer, take_owner(region));
    struct span span;
    if (open && leave(region->timer, open, &span) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static int add_region_type(void)
{
    static PyMethodDef methods[] = {
        {"__enter__", region_enter, METH_NOARGS, NULL},
        {"__exit__", region_exit, METH_VARARGS, NULL},
        {NULL, NULL, 0, NULL},
    };
    static PyType_Slot slots[] = {
        {Py_tp_dealloc, region_dealloc},
        {Py_tp_methods, methods},
        {Py_tp_doc, "What timed_region gives: a context manager, to be entered any number of times."},
        {0, NULL},
    };
    static PyType_Spec spec = {.name = "sonde.timed_region",
                               .basicsize = sizeof(struct region),
                               .flags = Py_TPFLAGS_DEFAULT,
                               .slots = slots};
    region_type = (PyTypeObject *)PyType_FromSpec(&spec);
    return region_type ? 0 : -1;
}

/* ---- all of them ---- */

static PyObject *listed_timers(PyObject *module, PyObject *unused)
{
    PyObject *found = PyDict_New(), *name, *timer;
    Py_ssize_t place = 0;
    (void)module;
    (void)unused;
    while (found && PyDict_Next(timers, &place, &name, &timer))
        if (as_timer(timer)->listed && PyDict_SetItem(found, name, timer) < 0)
            Py_CLEAR(found);
    return found;
}

/* They stay the timers of their names: regions and functions hold them. */
static PyObject *reset_timers(PyObject *module, PyObject *unused)
{
    PyObject *name, *timer;
    Py_ssize_t place = 0;
    (void)module;
    (void)unused;
    while (PyDict_Next(timers, &place, &name, &timer)) {
        Py_DECREF(timer_reset(timer, NULL));
        as_timer(timer)->listed = false;
    }
    Py_RETURN_NONE;
}

/* For the first rank alone to print the summary of the end. */
static PyObject *launched_rank(PyObject *module, PyObject *unused)
{
    uint32_t number = rank_detect().number;
    (void)module;
    (void)unused;
    if (number == RANK_NONE)
        Py_RETURN_NONE;
    return PyLong_FromUnsignedLong(number);
}

int timers_add(PyObject *module)
{
    static PyMethodDef functions[] = {
        {"timed_region", timed_region, METH_O,
         "timed_region(name): a context manager whose time the timer of that name counts."},
        {"timers", listed_timers, METH_NOARGS, "{name: Timer} of those that were used."},
        {"reset_timers", reset_timers, METH_NOARGS, "Forget all timers."},
        {"launched_rank", launched_rank, METH_NOARGS,
         "This process's rank as its launcher (mpirun, srun, torchrun) says; None when it is no rank."},
        {NULL, NULL, 0, NULL},
    };
    const char *wanted = getenv("SONDE_TIMERS");
    off = wanted && strcmp(wanted, "0") == 0;
    timers = PyDict_New();
    if (!timers || context_place_find() < 0 || add_timer_type(module) < 0 || add_region_type() < 0)
        return -1;
    allocate_timer = (allocfunc)PyType_GetSlot(timer_type, Py_tp_alloc);
    allocate_region = (allocfunc)PyType_GetSlot(region_type, Py_tp_alloc);
    Py_INCREF(off ? Py_False : Py_True);
    if (PyModule_AddObject(module, "timers_on", off ? Py_False : Py_True) < 0)
        return -1;
    return PyModule_AddFunctions(module, functions);
}
