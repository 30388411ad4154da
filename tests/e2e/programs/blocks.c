/*
 * blocks: a Python module that takes and gives back blocks of memory of known sizes, and nothing else: every byte of a
 * line that calls it is known. Of the stable ABI, so that one build serves every Python.
 */
#define _GNU_SOURCE
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x03090000
#include <Python.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HELD_MAX 100000

static void *held[HELD_MAX];
static int held_count;

/* The compiler must not see that a block is never used. */
static void *volatile seen;

static void *hold(void *block)
{
    seen = block;
    if (held_count < HELD_MAX)
        held[held_count++] = block;
    return block;
}

/* take(size, count): malloc, kept until give(count). */
static PyObject *take(PyObject *self, PyObject *arguments)
{
    int size, count;
    (void)self;
    if (!PyArg_ParseTuple(arguments, "ii", &size, &count))
        return NULL;
    for (int i = 0; i < count; i++)
        hold(malloc((size_t)size));
    Py_RETURN_NONE;
}

/* give(count): frees those that were taken last. */
static PyObject *give(PyObject *self, PyObject *arguments)
{
    int count;
    (void)self;
    if (!PyArg_ParseTuple(arguments, "i", &count))
        return NULL;
    while (count-- > 0 && held_count > 0)
        free(held[--held_count]);
    Py_RETURN_NONE;
}

/* sieve(step): of the blocks that are held every one but each step-th is freed. */
static PyObject *sieve(PyObject *self, PyObject *arguments)
{
    int step, kept = 0;
    (void)self;
    if (!PyArg_ParseTuple(arguments, "i", &step) || step < 1)
        return NULL;
    for (int i = 0; i < held_count; i++) {
        if (i % step == 0)
            held[kept++] = held[i];
        else
            free(held[i]);
    }
    held_count = kept;
    Py_RETURN_NONE;
}

/* pass(size, count): each is freed before the next is made. */
static PyObject *pass(PyObject *self, PyObject *arguments)
{
    int size, count;
    (void)self;
    if (!PyArg_ParseTuple(arguments, "ii", &size, &count))
        return NULL;
    for (int i = 0; i < count; i++) {
        seen = malloc((size_t)size);
        free(seen);
    }
    Py_RETURN_NONE;
}

/* zeroed(size, count): calloc in elements of 4 bytes. */
static PyObject *zeroed(PyObject *self, PyObject *arguments)
{
    int size, count;
    (void)self;
    if (!PyArg_ParseTuple(arguments, "ii", &size, &count))
        return NULL;
    for (int i = 0; i < count; i++)
        hold(calloc((size_t)size / 4, 4));
    Py_RETURN_NONE;
}

/* grow(size, times): one block of `size`, then reallocated to twice as much, so many times. */
static PyObject *grow(PyObject *self, PyObject *arguments)
{
    int size, times;
    (void)self;
    if (!PyArg_ParseTuple(arguments, "ii", &size, &times))
        return NULL;
    char *block = malloc((size_t)size);
    for (int i = 1; i <= times && block; i++)
        block = realloc(block, (size_t)size << i);
    hold(block);
    Py_RETURN_NONE;
}

/* aligned(size): one each by posix_memalign, aligned_alloc, memalign. */
void *memalign(size_t alignment, size_t size);
static PyObject *aligned(PyObject *self, PyObject *arguments)
{
    int size;
    void *block = NULL;
    (void)self;
    if (!PyArg_ParseTuple(arguments, "i", &size))
        return NULL;
    if (posix_memalign(&block, 4096, (size_t)size) == 0)
        hold(block);
    hold(aligned_alloc(256, (size_t)size));
    hold(memalign(64, (size_t)size));
    Py_RETURN_NONE;
}

/* mapped(size, kept): maps so much, and gives back all behind the first `kept` bytes. */
static PyObject *mapped(PyObject *self, PyObject *arguments)
{
    int size, kept;
    (void)self;
    if (!PyArg_ParseTuple(arguments, "ii", &size, &kept))
        return NULL;
    char *start = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start != MAP_FAILED && kept < size)
        munmap(start + kept, (size_t)(size - kept));
    Py_RETURN_NONE;
}

static void *take_in_thread(void *size)
{
    seen = malloc(*(int *)size);
    return NULL;
}

/* in_thread(size): taken by a thread that Python does not know of. */
static PyObject *in_thread(PyObject *self, PyObject *arguments)
{
    int size;
    pthread_t thread;
    (void)self;
    if (!PyArg_ParseTuple(arguments, "i", &size))
        return NULL;
    if (pthread_create(&thread, NULL, take_in_thread, &size) == 0)
        pthread_join(thread, NULL);
    Py_RETURN_NONE;
}

/* without_gil(size, count): taken while other threads may run. */
static PyObject *without_gil(PyObject *self, PyObject *arguments)
{
    int size, count;
    (void)self;
    if (!PyArg_ParseTuple(arguments, "ii", &size, &count))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    for (int i = 0; i < count; i++)
        seen = malloc((size_t)size);
    Py_END_ALLOW_THREADS;
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"take", take, METH_VARARGS, NULL},
    {"give", give, METH_VARARGS, NULL},
    {"sieve", sieve, METH_VARARGS, NULL},
    {"pass_", pass, METH_VARARGS, NULL},
    {"zeroed", zeroed, METH_VARARGS, NULL},
    {"grow", grow, METH_VARARGS, NULL},
    {"aligned", aligned, METH_VARARGS, NULL},
    {"mapped", mapped, METH_VARARGS, NULL},
    {"in_thread", in_thread, METH_VARARGS, NULL},
    {"without_gil", without_gil, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT, .m_name = "blocks", .m_size = -1, .m_methods = methods};

PyMODINIT_FUNC PyInit_blocks(void)
{
    return PyModule_Create(&definition);
}
