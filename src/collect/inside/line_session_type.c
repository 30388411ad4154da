#include "collect/inside/line_session_type.h"

#include <structmember.h>

#include "collect/inside/line_account.h"
#include "collect/inside/line_clock.h"
#include "collect/inside/line_session.h"

/* To switch events on and off costs far more than to leave them on. Who has been enabled so often goes on. */
#define SWITCHES_MAX   16
#define CALIBRATION_NS 10000000u

struct line_session_object {
    PyObject base;
    struct line_account *accounts;
    uint32_t account_count, capacity;
    PyObject *places; /* label → place among the accounts */
    Py_ssize_t enable_count;
    bool enabled;
    bool has_always, has_others; /* accounts of either kind */
    bool sharing;                /* of the process's session */
    uint32_t switches;
    uint32_t open_gates; /* calls of functions that are always timed */
    struct line_session_object *next;
};

static struct line_session_object *sessions; /* all */

static int fail(const char *why)
{
    PyErr_SetString(PyExc_RuntimeError, why);
    return -1;
}

/* A class derived from it may have left that out. */
static bool is_ready(const struct line_session_object *self)
{
    if (!self->places)
        fail("LineSession.__init__ was not called");
    return self->places;
}

/* ---- counting ---- */

static bool has_to_count(const struct line_session_object *self, const struct line_account *account)
{
    return account->always || self->enabled || self->open_gates;
}

/* Starts or stops each account as things are now. 0, or -1 when memory ran out. */
static int update_accounts(struct line_session_object *self)
{
    struct line_reading reading;
    if (line_reading_init(&reading, line_session_arena(), line_clock_now()) < 0)
        return -1;
    for (uint32_t i = 0; i < self->account_count; i++) {
        if (has_to_count(self, &self->accounts[i]))
            line_account_start(&self->accounts[i], &reading);
        else
            line_account_stop(&self->accounts[i], &reading);
    }
    line_reading_clear(&reading);
    return 0;
}

static void mark_gates(const struct line_account *account)
{
    for (Py_ssize_t i = 0; i < PyList_Size(account->codes); i++) {
        struct line_code *function = line_codes_find(PyList_GetItem(account->codes, i));
        if (function)
            function->is_gate = true;
    }
}

/* Functions that are always timed open the way to the others, if there are any. */
static void choose_all(const struct line_session_object *self)
{
    for (uint32_t i = 0; i < self->account_count; i++) {
        line_account_choose(&self->accounts[i]);
        if (self->accounts[i].always && self->has_others)
            mark_gates(&self->accounts[i]);
    }
}

static int update(struct line_session_object *self)
{
    char why[200] = "";
    bool needed = self->enabled || self->has_always;
    if (needed && !self->sharing) {
        if (line_session_share(why, sizeof why) < 0)
            return fail(why);
        self->sharing = true;
    }
    if (needed)
        choose_all(self);
    if (update_accounts(self) < 0) {
        PyErr_NoMemory();
        return -1;
    }
    if (!needed && self->sharing && self->switches++ < SWITCHES_MAX) {
        line_session_unshare();
        self->sharing = false;
    }
    return 0;
}

static bool opens_by(const struct line_session_object *self, const struct line_code *function)
{
    for (uint32_t i = 0; self->has_others && i < self->account_count; i++)
        if (self->accounts[i].always && line_account_has(&self->accounts[i], (PyObject *)function->code))
            return true;
    return false;
}

/* In the middle of an event: without memory the others go on, or stay out, as they were. */
static void on_gate(const struct line_code *function, bool opens)
{
    for (struct line_session_object *self = sessions; self; self = self->next) {
        if (!opens_by(self, function) || (!opens && !self->open_gates))
            continue;
        uint32_t before = self->open_gates;
        self->open_gates = opens ? before + 1 : before - 1;
        if (before == 0 || self->open_gates == 0)
            update_accounts(self);
    }
}

/* A function gets its row of counters: only what they count from then on is its own. */
static void on_naming(const struct line_code *function, bool done)
{
    struct line_reading reading;
    if (!sessions || line_reading_init(&reading, line_session_arena(), line_clock_now()) < 0)
        return;
    for (struct line_session_object *self = sessions; self; self = self->next)
        for (uint32_t i = 0; i < self->account_count; i++) {
            if (!line_account_has(&self->accounts[i], (PyObject *)function->code))
                continue;
            if (done)
                line_account_resume(&self->accounts[i], &reading);
            else
                line_account_settle(&self->accounts[i], &reading);
        }
    line_reading_clear(&reading);
}

/* ---- functions ---- */

static struct line_account *new_account(struct line_session_object *self, PyObject *label)
{
    if (self->account_count == self->capacity) {
        uint32_t larger = self->capacity ? 2 * self->capacity : 8;
        struct line_account *grown = PyMem_Realloc(self->accounts, larger * sizeof *grown);
        if (!grown) {
            PyErr_NoMemory();
            return NULL;
        }
        self->accounts = grown;
        self->capacity = larger;
    }
    PyObject *place = PyLong_FromUnsignedLong(self->account_count);
    struct line_account *account = &self->accounts[self->account_count];
    int result =
        place && line_account_init(account, label) == 0 ? PyDict_SetItem(self->places, label, place) : -1;
    Py_XDECREF(place);
    if (result < 0)
        return NULL;
    self->account_count++;
    return account;
}

static struct line_account *find_account(struct line_session_object *self, PyObject *label)
{
    PyObject *place = PyDict_GetItemWithError(self->places, label);
    if (place)
        return &self->accounts[PyLong_AsUnsignedLong(place)];
    return PyErr_Occurred() ? NULL : new_account(self, label);
}

static int add_code(struct line_account *account, PyObject *code, bool always)
{
    struct line_reading reading;
    if (line_reading_init(&reading, line_session_arena(), line_clock_now()) < 0) {
        PyErr_NoMemory();
        return -1;
    }
    line_account_settle(account, &reading);
    account->always |= always;
    int result = line_account_add(account, code);
    line_account_resume(account, &reading);
    line_reading_clear(&reading);
    return result;
}

static PyObject *session_add(PyObject *object, PyObject *arguments)
{
    struct line_session_object *self = (struct line_session_object *)object;
    PyObject *code, *label;
    int always = 0;
    if (!is_ready(self) || !PyArg_ParseTuple(arguments, "OO!|p", &code, &PyTuple_Type, &label, &always))
        return NULL;
    if (!PyObject_TypeCheck(code, interpreter.code_type)) {
        PyErr_SetString(PyExc_TypeError, "a code object is needed");
        return NULL;
    }
    struct line_account *account = find_account(self, label);
    if (!account || add_code(account, code, always) < 0)
        return NULL;
    self->has_always = self->has_others = false;
    for (uint32_t i = 0; i < self->account_count; i++) {
        self->has_always |= self->accounts[i].always;
        self->has_others |= !self->accounts[i].always;
    }
    if (update(self) < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* ---- on and off ---- */

static PyObject *set_enabled(PyObject *object, bool enabled)
{
    struct line_session_object *self = (struct line_session_object *)object;
    if (!is_ready(self))
        return NULL;
    self->enabled = enabled;
    if (update(self) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *session_enable(PyObject *object, PyObject *unused)
{
    (void)unused;
    return set_enabled(object, true);
}

static PyObject *session_disable(PyObject *object, PyObject *unused)
{
    (void)unused;
    return set_enabled(object, false);
}

static PyObject *session_enable_by_count(PyObject *object, PyObject *unused)
{
    (void)unused;
    struct line_session_object *self = (struct line_session_object *)object;
    if (self->enable_count++ == 0)
        return set_enabled(object, true);
    Py_RETURN_NONE;
}

static PyObject *session_disable_by_count(PyObject *object, PyObject *unused)
{
    (void)unused;
    struct line_session_object *self = (struct line_session_object *)object;
    if (self->enable_count > 0 && --self->enable_count == 0)
        return set_enabled(object, false);
    Py_RETURN_NONE;
}

/* ---- results ---- */

static PyObject *row_of(const struct clock_rate *rate, uint32_t number, const struct arena_line *line)
{
    bool known = line->max_ticks > 0;
    return Py_BuildValue("IKKKKK", number, (unsigned long long)line->hits,
                         (unsigned long long)clock_span_ns(rate, line->total_ticks),
                         (unsigned long long)clock_span_ns(rate, line->self_ticks),
                         (unsigned long long)(known ? clock_span_ns(rate, line->min_ticks) : 0),
                         (unsigned long long)(known ? clock_span_ns(rate, line->max_ticks) : 0));
}

static PyObject *rows_of(struct line_account *account, const struct line_reading *reading,
                         const struct clock_rate *rate)
{
    const struct arena_line *lines = line_account_read(account, reading);
    PyObject *rows = PyList_New(0);
    for (uint32_t i = 0; rows && i < account->line_count; i++) {
        PyObject *row = lines[i].hits ? row_of(rate, account->first_line + i, &lines[i]) : NULL;
        if ((lines[i].hits && !row) || (row && PyList_Append(rows, row) < 0))
            Py_CLEAR(rows);
        Py_XDECREF(row);
    }
    return rows;
}

/* Settled once, so that the same counts always give the same times; that takes a while to be exact. */
static struct clock_rate find_rate(const struct arena *arena)
{
    static struct clock_rate rate;
    bool counter = clock_has_counter();
    if (!arena || rate.ns_per_tick > 0)
        return rate;
    while (clock_monotonic_ns() - arena->start_ns < CALIBRATION_NS)
        ;
    struct clock_pair start = {.ticks = arena->start_ticks, .ns = arena->start_ns};
    rate = clock_rate_between(start, clock_read_pair(counter), counter);
    return rate;
}

static PyObject *session_rows(PyObject *object, PyObject *unused)
{
    (void)unused;
    struct line_session_object *self = (struct line_session_object *)object;
    struct arena *arena = line_session_arena();
    struct line_reading reading;
    if (line_reading_init(&reading, arena, line_clock_now()) < 0)
        return PyErr_NoMemory();
    struct clock_rate rate = find_rate(arena);
    PyObject *result = PyList_New(0);
    for (uint32_t i = 0; result && i < self->account_count; i++) {
        PyObject *rows = rows_of(&self->accounts[i], &reading, &rate);
        PyObject *pair = rows ? PyTuple_Pack(2, self->accounts[i].label, rows) : NULL;
        if (!pair || PyList_Append(result, pair) < 0)
            Py_CLEAR(result);
        Py_XDECREF(pair);
        Py_XDECREF(rows);
    }
    line_reading_clear(&reading);
    return result;
}

static PyObject *session_forked(PyObject *unused, PyObject *none)
{
    (void)unused, (void)none;
    line_session_forked();
    Py_RETURN_NONE;
}

/* ---- the type ---- */

static int session_init(PyObject *object, PyObject *arguments, PyObject *names)
{
    struct line_session_object *self = (struct line_session_object *)object;
    char why[200] = "";
    (void)arguments, (void)names;
    if (self->places)
        return 0;
    if (interpreter_init(why, sizeof why) < 0)
        return fail(why);
    self->places = PyDict_New();
    if (!self->places)
        return -1;
    self->next = sessions;
    sessions = self;
    line_clock_gate = on_gate;
    line_codes_naming = on_naming;
    return 0;
}

static void leave_list(const struct line_session_object *self)
{
    struct line_session_object **link = &sessions;
    while (*link && *link != self)
        link = &(*link)->next;
    if (*link)
        *link = self->next;
}

static void session_free(PyObject *object)
{
    struct line_session_object *self = (struct line_session_object *)object;
    PyTypeObject *type = Py_TYPE(object);
    leave_list(self);
    if (self->sharing)
        line_session_unshare();
    for (uint32_t i = 0; i < self->account_count; i++)
        line_account_clear(&self->accounts[i]);
    PyMem_Free(self->accounts);
    Py_XDECREF(self->places);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

int line_session_type_add(PyObject *module)
{
    static PyMethodDef methods[] = {
        {"add_code", session_add, METH_VARARGS,
         "add_code(code, label, always=False): time the lines of a code object."},
        {"enable", session_enable, METH_NOARGS, "Start counting, in all threads."},
        {"disable", session_disable, METH_NOARGS, "Stop counting."},
        {"enable_by_count", session_enable_by_count, METH_NOARGS, "Start counting, if nobody has so far."},
        {"disable_by_count", session_disable_by_count, METH_NOARGS,
         "Stop counting, when all who have started have said so."},
        {"rows", session_rows, METH_NOARGS,
         "rows() -> [(label, [(line, hits, total_ns, self_ns, min_ns, max_ns), ...]), ...]"},
        {"forked", session_forked, METH_NOARGS | METH_STATIC, "To be called in the child of a fork."},
        {NULL, NULL, 0, NULL},
    };
    static PyMemberDef members[] = {
        {"enable_count", T_PYSSIZET, offsetof(struct line_session_object, enable_count), 0, NULL},
        {NULL, 0, 0, 0, NULL},
    };
    static PyType_Slot slots[] = {
        {Py_tp_init, session_init},
        {Py_tp_dealloc, session_free},
        {Py_tp_methods, methods},
        {Py_tp_members, members},
        {Py_tp_doc, "Times of lines in this process, under the program's control."},
        {0, NULL},
    };
    static PyType_Spec spec = {
        .name = "sonde._inside.LineSession",
        .basicsize = sizeof(struct line_session_object),
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
        .slots = slots,
    };
    PyObject *type = PyType_FromSpec(&spec);
    if (!type)
        return -1;
    int result = PyModule_AddObject(module, "LineSession", type);
    if (result < 0)
        Py_DECREF(type);
    return result;
}
