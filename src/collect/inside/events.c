#include "collect/inside/events.h"

uint32_t events_name(enum events_kind kind, const char *utf8, size_t bytes)
{
    struct sonde_zones *zones = sonde_zones_now();
    return zones ? zones->name((uint32_t)kind, utf8, bytes) : 0;
}

void events_begin_for(uint32_t region, uint64_t owner)
{
    struct sonde_zones *zones = sonde_zones_now();
    if (zones)
        zones->begin_for(region, owner);
}

void events_end_for(uint32_t region, uint64_t owner)
{
    struct sonde_zones *zones = sonde_zones_now();
    if (zones)
        zones->end_for(region, owner);
}

void events_begin(uint32_t region)
{
    events_begin_for(region, 0);
}

void events_end(uint32_t region)
{
    events_end_for(region, 0);
}

void events_mark(uint32_t mark, const char *text, size_t bytes)
{
    struct sonde_zones *zones = sonde_zones_now();
    if (zones)
        zones->mark(mark, text, bytes);
}

uint32_t events_name_of(enum events_kind kind, PyObject *name)
{
    PyObject *text = events_on() ? interpreter_utf8(name) : NULL;
    uint32_t id = text ? events_name(kind, PyBytes_AsString(text), (size_t)PyBytes_Size(text)) : 0;
    Py_XDECREF(text);
    PyErr_Clear();
    return id;
}

/* ---- for Python ---- */

/* {name: id} of each kind, so that a name is looked up by its hash, which a str has already. */
static PyObject *known[EVENTS_COUNTER + 1];

/* 0 with an exception when it is no text; else 0 when nobody records. */
static uint32_t id_of(enum events_kind kind, PyObject *name)
{
    if (!PyUnicode_Check(name)) {
        PyErr_SetString(PyExc_TypeError, "a name is text");
        return 0;
    }
    if (!events_on())
        return 0;
    PyObject *found = PyDict_GetItemWithError(known[kind], name);
    if (found)
        return (uint32_t)PyLong_AsUnsignedLong(found);
    uint32_t id = events_name_of(kind, name);
    PyObject *number = id ? PyLong_FromUnsignedLong(id) : NULL;
    if (number)
        PyDict_SetItem(known[kind], name, number);
    Py_XDECREF(number);
    PyErr_Clear();
    return id;
}

static PyObject *done(void)
{
    if (PyErr_Occurred())
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *is_on(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyBool_FromLong(events_on());
}

static PyObject *tell_region(PyObject *arguments, const char *format, void (*tell)(uint32_t, uint64_t))
{
    PyObject *name;
    unsigned long long owner = 0;
    if (!PyArg_ParseTuple(arguments, format, &name, &owner))
        return NULL;
    tell(id_of(EVENTS_REGION, name), owner);
    return done();
}

static PyObject *begin(PyObject *module, PyObject *arguments)
{
    (void)module;
    return tell_region(arguments, "O|K:event_begin", events_begin_for);
}

static PyObject *end(PyObject *module, PyObject *arguments)
{
    (void)module;
    return tell_region(arguments, "O|K:event_end", events_end_for);
}

static PyObject *mark(PyObject *module, PyObject *arguments)
{
    PyObject *name, *text = Py_None;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O|O:event_mark", &name, &text))
        return NULL;
    if (text != Py_None && !PyUnicode_Check(text)) {
        PyErr_SetString(PyExc_TypeError, "the text of a mark is text");
        return NULL;
    }
    uint32_t id = id_of(EVENTS_MARK, name);
    PyObject *said = id && text != Py_None ? interpreter_utf8(text) : NULL;
    events_mark(id, said ? PyBytes_AsString(said) : NULL, said ? (size_t)PyBytes_Size(said) : 0);
    Py_XDECREF(said);
    return done();
}

static PyObject *counter(PyObject *module, PyObject *arguments)
{
    PyObject *name;
    double value;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "Od:event_counter", &name, &value))
        return NULL;
    uint32_t id = id_of(EVENTS_COUNTER, name);
    struct sonde_zones *zones = sonde_zones_now();
    if (zones)
        zones->counter(id, value);
    return done();
}

static PyObject *metadata(PyObject *module, PyObject *arguments)
{
    const char *key, *value;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "ss:event_metadata", &key, &value))
        return NULL;
    sonde_metadata(key, value);
    Py_RETURN_NONE;
}

int events_add(PyObject *module)
{
    static PyMethodDef functions[] = {
        {"events_on", is_on, METH_NOARGS, "Whether somebody records events of this process."},
        {"event_begin", begin, METH_VARARGS, "event_begin(name, owner=0): a region begins in this thread."},
        {"event_end", end, METH_VARARGS,
         "event_end(name, owner=0): the innermost open one of that name and owner ends."},
        {"event_mark", mark, METH_VARARGS, "event_mark(name, text=None): an instant."},
        {"event_counter", counter, METH_VARARGS, "event_counter(name, value): what it is now."},
        {"event_metadata", metadata, METH_VARARGS, "event_metadata(key, value): about this run."},
        {NULL, NULL, 0, NULL},
    };
    for (int kind = EVENTS_REGION; kind <= EVENTS_COUNTER; kind++)
        if (!known[kind] && !(known[kind] = PyDict_New()))
            return -1;
    return PyModule_AddFunctions(module, functions);
}
