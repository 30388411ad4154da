/*
 * binding: the Python module sonde._binding: what the readers and analyses know, as Python objects.
 *
 * Its functions take the bytes of a recording (.sonde, or any format that import reads), never a path. The
 * interpreter is let go while bytes are read and analysed. One module object per interpreter; nothing global.
 */
#include <Python.h>

#include "analyse/functions.h"
#include "analyse/native_stacks.h"
#include "base/bytes.h"
#include "base/err.h"
#include "binding/columns.h"
#include "binding/embedding.h"
#include "binding/getstats.h"
#include "binding/line_stats.h"
#include "export/pstats_writer.h"
#include "import/formats.h"
#include "store/recording.h"

#define BINDING_EXPORT __attribute__((visibility("default")))

static struct PyModuleDef binding_module;

struct binding_state {
    struct getstats_types types;
};

/* A recording and its function table, as one job for the time without the interpreter. */
struct binding_profile {
    struct recording recording;
    struct functions functions;
};

static void binding_profile_clear(struct binding_profile *profile)
{
    functions_clear(&profile->functions);
    recording_clear(&profile->recording);
}

static int binding_load(struct binding_profile *profile, const char *data, size_t size, const char *name,
                        struct err *err)
{
    const struct selection everything = {.measure = MEASURE_TIME};

    if (formats_read(data, size, name, &profile->recording, err) < 0 ||
        native_stacks_name(&profile->recording, false, err) < 0)
        return -1;
    return functions_build(&profile->recording, &everything, &profile->functions, err);
}

/* Fills an empty profile from a bytes object; 0, or -1 with ValueError. */
static int binding_profile_init(struct binding_profile *profile, PyObject *data, const char *name)
{
    struct err err = {0};
    Py_ssize_t size;
    char *bytes;
    int failed;

    if (PyBytes_AsStringAndSize(data, &bytes, &size) < 0)
        return -1;
    Py_BEGIN_ALLOW_THREADS;
    failed = binding_load(profile, bytes, (size_t)size, name, &err);
    Py_END_ALLOW_THREADS;
    if (failed) {
        PyErr_SetString(PyExc_ValueError, err.text);
        binding_profile_clear(profile);
    }
    return failed;
}

/* The arguments that all functions here take: data, a name for messages, whether callers are told apart. */
static int binding_arguments(PyObject *arguments, struct binding_profile *profile)
{
    const char *name = "the recording";
    int subcalls = 1;
    PyObject *data;

    if (!PyArg_ParseTuple(arguments, "S|sp", &data, &name, &subcalls) ||
        binding_profile_init(profile, data, name) < 0)
        return -1;
    if (!subcalls)
        profile->functions.edge_count = 0;
    return 0;
}

static PyObject *binding_read(PyObject *module, PyObject *arguments)
{
    struct binding_profile profile = {0};
    PyObject *dict;

    (void)module;
    if (binding_arguments(arguments, &profile) < 0)
        return NULL;
    dict = columns_recording(&profile.recording, &profile.functions);
    binding_profile_clear(&profile);
    return dict;
}

static PyObject *binding_functions(PyObject *module, PyObject *arguments)
{
    struct binding_state *state = PyModule_GetState(module);
    struct binding_profile profile = {0};
    PyObject *list;

    if (binding_arguments(arguments, &profile) < 0)
        return NULL;
    list = getstats_list(&state->types, &profile.recording, &profile.functions);
    binding_profile_clear(&profile);
    return list;
}

static PyObject *binding_pstats(PyObject *module, PyObject *arguments)
{
    struct binding_profile profile = {0};
    struct bytes out = {0};
    struct err err = {0};
    PyObject *result = NULL;

    (void)module;
    if (binding_arguments(arguments, &profile) < 0)
        return NULL;
    if (pstats_writer_write(&profile.recording, &profile.functions, &out, &err) < 0)
        PyErr_SetString(PyExc_ValueError, err.text);
    else
        result = PyBytes_FromStringAndSize((const char *)out.data, (Py_ssize_t)out.size);
    bytes_clear(&out);
    binding_profile_clear(&profile);
    return result;
}

/* The module of the interpreter that runs. The stable ABI of 3.9 has no way from a type to its module. */
static PyObject *binding_find_module(void)
{
    PyObject *name = PyUnicode_FromString("sonde._binding");
    PyObject *module = name ? PyImport_GetModule(name) : NULL;

    Py_XDECREF(name);
    if (module && PyModule_Check(module) && PyModule_GetDef(module) == &binding_module)
        return module;
    Py_XDECREF(module);
    if (!PyErr_Occurred())
        PyErr_SetString(PyExc_ImportError, "sonde._binding was taken out of sys.modules; import it again");
    return NULL;
}

/* In C, as cProfile's is: called while the profiler is enabled, it shows as this one call. */
static PyObject *binding_getstats(PyObject *self, PyObject *none)
{
    PyObject *module = binding_find_module();
    PyObject *data = module ? PyObject_CallMethod(self, "raw_snapshot", NULL) : NULL;
    PyObject *subcalls = data ? PyObject_GetAttrString(self, "subcalls") : NULL;
    PyObject *arguments = subcalls ? Py_BuildValue("(OsO)", data, "this profile", subcalls) : NULL;
    PyObject *list = arguments ? binding_functions(module, arguments) : NULL;

    (void)none;
    Py_XDECREF(arguments);
    Py_XDECREF(subcalls);
    Py_XDECREF(data);
    Py_XDECREF(module);
    return list;
}

static PyObject *binding_snapshot(PyObject *self, PyObject *none)
{
    PyObject *data = PyObject_CallMethod(self, "raw_snapshot", NULL), *result = NULL;
    struct bytes out = {0};
    struct err err = {0};
    Py_ssize_t size;
    char *bytes;
    int failed;

    (void)none;
    if (!data || PyBytes_AsStringAndSize(data, &bytes, &size) < 0) {
        Py_XDECREF(data);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS;
    failed = embedding_add(bytes, (size_t)size, &out, &err);
    Py_END_ALLOW_THREADS;
    if (failed)
        PyErr_SetString(PyExc_RuntimeError, err.text);
    else
        result = PyBytes_FromStringAndSize((const char *)out.data, (Py_ssize_t)out.size);
    bytes_clear(&out);
    Py_DECREF(data);
    return result;
}

static PyMethodDef binding_results_methods[] = {{"getstats", binding_getstats, METH_NOARGS,
                                                 "getstats() -> list of profiler_entry\n\n"
                                                 "One for each function, with cProfile's fields: code, "
                                                 "callcount, reccallcount, totaltime, inlinetime, calls."},
                                                {"snapshot", binding_snapshot, METH_NOARGS,
                                                 "snapshot() -> bytes\n\n"
                                                 "Everything recorded so far as a .sonde file, with the text "
                                                 "of the source files below the working directory."},
                                                {NULL, NULL, 0, NULL}};
static PyType_Slot binding_results_slots[] = {
    {Py_tp_doc,
     "What can be asked of a class that has raw_snapshot() -> bytes of a recording, and subcalls -> bool."},
    {Py_tp_methods, binding_results_methods},
    {0, NULL}};
static PyType_Spec binding_results_spec = {"sonde._binding.Results", 0, 0,
                                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, binding_results_slots};

static int binding_exec(PyObject *module)
{
    struct binding_state *state = PyModule_GetState(module);
    PyObject *results;

    if (getstats_types_init(&state->types, module) < 0 ||
        PyModule_AddStringConstant(module, "VERSION", SONDE_VERSION) < 0)
        return -1;
    results = PyType_FromSpec(&binding_results_spec);
    if (results && PyModule_AddObject(module, "Results", results) == 0)
        return 0;
    Py_XDECREF(results);
    return -1;
}

static int binding_traverse(PyObject *module, visitproc visit, void *arg)
{
    struct binding_state *state = PyModule_GetState(module);

    return state ? getstats_types_visit(&state->types, visit, arg) : 0;
}

static int binding_clear(PyObject *module)
{
    struct binding_state *state = PyModule_GetState(module);

    if (state)
        getstats_types_clear(&state->types);
    return 0;
}

static void binding_free(void *module)
{
    binding_clear(module);
}

static PyMethodDef binding_methods[] = {
    {"read", binding_read, METH_VARARGS,
     "read(data, name='the recording', subcalls=True) -> dict\n\n"
     "The tables of a recording, column by column, as memoryviews."},
    {"functions", binding_functions, METH_VARARGS,
     "functions(data, name='the recording', subcalls=True) -> list of profiler_entry\n\n"
     "The functions, as getstats() gives them."},
    {"pstats", binding_pstats, METH_VARARGS,
     "pstats(data, name='the recording', subcalls=True) -> bytes\n\n"
     "The functions as a .prof file."},
    {"read_lines", line_stats_read, METH_VARARGS,
     "read_lines(data, name) -> [((file, first_line, name), rows), ...]\n\n"
     "The times of lines in a .lprof or .sonde file; a row is (line, hits, total_ns) or, where more is "
     "known, "
     "(line, hits, total_ns, self_ns, min_ns, max_ns)."},
    {"lprof", line_stats_lprof, METH_VARARGS, "lprof(functions) -> bytes\n\nA .lprof file."},
    {"line_recording", line_stats_recording, METH_VARARGS,
     "line_recording(functions, sources) -> bytes\n\nA .sonde file; sources: {file: text}."},
    {"line_memory_text", line_stats_memory_text, METH_VARARGS,
     "The table of the memory of lines, as memory_profiler prints it."},
    {"line_text", line_stats_text, METH_VARARGS,
     "line_text(functions, sources, unit, stripzeros, details, summarize, color) -> str\n\n"
     "line_profiler's layout."},
    {NULL, NULL, 0, NULL}};

static PyModuleDef_Slot binding_slots[] = {{Py_mod_exec, binding_exec}, {0, NULL}};

static struct PyModuleDef binding_module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "sonde._binding",
    .m_doc = "Recordings, read and analysed in C, as Python objects.",
    .m_size = sizeof(struct binding_state),
    .m_methods = binding_methods,
    .m_slots = binding_slots,
    .m_traverse = binding_traverse,
    .m_clear = binding_clear,
    .m_free = binding_free,
};

BINDING_EXPORT PyObject *PyInit__binding(void);
BINDING_EXPORT PyObject *PyInit__binding(void)
{
    return PyModuleDef_Init(&binding_module);
}
