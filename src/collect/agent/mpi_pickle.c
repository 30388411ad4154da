#include "collect/agent/mpi_pickle.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/agent/mpi_tracker.h"
#include "collect/agent/python_method.h"
#include "store/mpi_calls.h"

#define TRIES 100 /* calls of MPI at which mpi4py is looked for */

bool mpi_pickle_is_wanted;

typedef struct python_object object;

/* Of CPython's stable interface; all must be there. */
#define FUNCTIONS(X)                                                                                         \
    X(int, Py_IsInitialized, (void))                                                                         \
    X(int, Py_AddPendingCall, (int (*)(void *), void *))                                                     \
    X(object *, PyImport_ImportModule, (const char *))                                                       \
    X(object *, PyImport_GetModuleDict, (void))                                                              \
    X(object *, PyDict_GetItemString, (object *, const char *))                                              \
    X(object *, PyObject_GetAttrString, (object *, const char *))                                            \
    X(object *, PyObject_Call, (object *, object *, object *))                                               \
    X(object *, PyCFunction_NewEx, (struct python_method *, object *, object *))                             \
    X(object *, Py_BuildValue, (const char *, ...))                                                          \
    X(object *, PyTuple_GetItem, (object *, intptr_t))                                                       \
    X(intptr_t, PyObject_Size, (object *))                                                                   \
    X(void, Py_DecRef, (object *))                                                                           \
    X(void, PyErr_Clear, (void))

#define MEMBER(type, name, parameters) type(*name) parameters;
static struct {
    FUNCTIONS(MEMBER)
} python;
#undef MEMBER

static object *real_dumps, *real_loads;
static int tries;

/* ---- ours ---- */

static uint64_t size_of(object *bytes)
{
    intptr_t size = bytes ? python.PyObject_Size(bytes) : -1;
    if (size < 0)
        python.PyErr_Clear();
    return size > 0 ? (uint64_t)size : 0;
}

static void count(const struct mpi_tally *tally, uint64_t ticks)
{
    struct mpi_thread *thread = mpi_tracker_begin(NULL);
    if (!thread)
        return;
    mpi_tracker_count(thread, tally, ticks);
    mpi_tracker_end(thread);
}

static object *dumps(object *self, object *arguments, object *keywords)
{
    (void)self;
    uint64_t start = mpi_tracker_now();
    object *result = python.PyObject_Call(real_dumps, arguments, keywords);
    uint64_t ticks = mpi_tracker_now() - start;
    if (result) {
        const struct mpi_tally tally = {
            .call = MPI_CALL_PICKLE, .peer = MPI_TRACKER_NOBODY, .sent_bytes = size_of(result)};
        count(&tally, ticks);
    }
    return result;
}

static object *loads(object *self, object *arguments, object *keywords)
{
    (void)self;
    uint64_t start = mpi_tracker_now();
    object *result = python.PyObject_Call(real_loads, arguments, keywords);
    uint64_t ticks = mpi_tracker_now() - start;
    if (result) {
        const struct mpi_tally tally = {.call = MPI_CALL_UNPICKLE,
                                        .peer = MPI_TRACKER_NOBODY,
                                        .received_bytes = size_of(python.PyTuple_GetItem(arguments, 0))};
        count(&tally, ticks);
    }
    return result;
}

static struct python_method methods[] = {
    {"dumps", (python_function *)(void *)dumps, PYTHON_METHOD_ARGUMENTS | PYTHON_METHOD_KEYWORDS, NULL},
    {"loads", (python_function *)(void *)loads, PYTHON_METHOD_ARGUMENTS | PYTHON_METHOD_KEYWORDS, NULL},
};

/* ---- putting them in ---- */

static void drop(object *const *made, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (made[i])
            python.Py_DecRef(made[i]);
    python.PyErr_Clear();
}

/* pickler.__init__(dumps, loads, protocol=..., threshold=...), the latter as they are; before mpi4py 4 there is no threshold. */
static bool initialise(object *pickler, object *ours[2])
{
    object *protocol = python.PyObject_GetAttrString(pickler, "PROTOCOL");
    object *threshold = python.PyObject_GetAttrString(pickler, "THRESHOLD");
    python.PyErr_Clear();
    object *method = python.PyObject_GetAttrString(pickler, "__init__");
    object *arguments = python.Py_BuildValue("(OO)", ours[0], ours[1]);
    object *keywords = !protocol ? NULL
                       : threshold
                           ? python.Py_BuildValue("{sOsO}", "protocol", protocol, "threshold", threshold)
                           : python.Py_BuildValue("{sO}", "protocol", protocol);
    object *done = method && arguments && keywords ? python.PyObject_Call(method, arguments, keywords) : NULL;
    object *const made[] = {protocol, threshold, method, arguments, keywords, done};
    drop(made, sizeof made / sizeof *made);
    return done;
}

static void install(object *pickler)
{
    object *module = python.PyImport_ImportModule("pickle");
    real_dumps = module ? python.PyObject_GetAttrString(module, "dumps") : NULL;
    real_loads = module ? python.PyObject_GetAttrString(module, "loads") : NULL;
    object *ours[2] = {python.PyCFunction_NewEx(&methods[0], NULL, NULL),
                       python.PyCFunction_NewEx(&methods[1], NULL, NULL)};
    if (real_dumps && real_loads && ours[0] && ours[1])
        initialise(pickler, ours);
    object *const made[] = {module, ours[0], ours[1]};
    drop(made, sizeof made / sizeof *made);
}

/* Between two instructions of the main thread. While mpi4py is being imported, it may not have its pickler yet. */
static int look(void *unused)
{
    (void)unused;
    object *module = python.PyDict_GetItemString(python.PyImport_GetModuleDict(), "mpi4py.MPI");
    object *pickler = module ? python.PyObject_GetAttrString(module, "pickle") : NULL;
    python.PyErr_Clear();
    if (pickler)
        install(pickler);
    else
        mpi_pickle_is_wanted = ++tries < TRIES;
    drop(&pickler, 1);
    return 0;
}

void mpi_pickle_begin(void)
{
#define FIND(type, name, parameters)                                                                         \
    *(void **)&python.name = dlsym(RTLD_DEFAULT, #name);                                                     \
    if (!python.name)                                                                                        \
        return;
    FUNCTIONS(FIND)
#undef FIND
    mpi_pickle_is_wanted = true;
}

void mpi_pickle_ask(void)
{
    mpi_pickle_is_wanted = false;
    if (!python.Py_IsInitialized()) /* mpi4py ends MPI when the interpreter is gone */
        return;
    if (python.Py_AddPendingCall(look, NULL) != 0)
        mpi_pickle_is_wanted = true;
}
