#include "collect/inside/memory_region_type.h"

#include "base/bytes.h"
#include "base/err.h"
#include "collect/inside/memory_region.h"

struct region_object {
    PyObject base;
    struct memory_region region;
};

static int region_init(PyObject *object, PyObject *arguments, PyObject *names)
{
    static char *keywords[] = {"python_allocators", NULL};
    struct region_object *self = (struct region_object *)object;
    int python_allocators = 0;
    char why[400] = "";
    if (!PyArg_ParseTupleAndKeywords(arguments, names, "|$p", keywords, &python_allocators))
        return -1;
    memory_region_abandon(&self->region);
    if (memory_region_begin(&self->region, python_allocators, why, sizeof why) == 0)
        return 0;
    PyErr_SetString(PyExc_RuntimeError, why);
    return -1;
}

static void region_free(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    memory_region_abandon(&((struct region_object *)object)->region);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

static PyObject *region_stop(PyObject *object, PyObject *unused)
{
    (void)unused;
    struct memory_region *region = &((struct region_object *)object)->region;
    struct memory_totals totals;
    struct bytes image = {0};
    struct err err = {0};
    PyObject *result = NULL;
    if (memory_region_is_parents(region)) {
        memory_region_abandon(region);
        Py_RETURN_NONE;
    }
    if (!region->before)
        err_set(&err, "this region has ended");
    else if (memory_region_end(region, &totals, &image, &err) == 0)
        result = Py_BuildValue("(y#(KKKKK))", (char *)image.data, (Py_ssize_t)image.size,
                               (unsigned long long)totals.peak_bytes, (unsigned long long)totals.bytes,
                               (unsigned long long)totals.count, (unsigned long long)totals.live_bytes,
                               (unsigned long long)totals.live_count);
    if (!result && !PyErr_Occurred())
        PyErr_SetString(PyExc_RuntimeError, err.text);
    bytes_clear(&image);
    return result;
}

int memory_region_type_add(PyObject *module)
{
    static PyMethodDef methods[] = {
        {"stop", region_stop, METH_NOARGS,
         "stop() -> (bytes of a .sonde file, (peak bytes, total bytes, allocations, live bytes, live "
         "blocks)) "
         "or None in the child of a fork"},
        {NULL, NULL, 0, NULL},
    };
    static PyType_Slot slots[] = {
        {Py_tp_init, region_init},
        {Py_tp_dealloc, region_free},
        {Py_tp_methods, methods},
        {Py_tp_doc, "What is allocated in this process from the making of this object until stop()."},
        {0, NULL},
    };
    static PyType_Spec spec = {
        .name = "sonde._inside.MemoryRegion",
        .basicsize = sizeof(struct region_object),
        .flags = Py_TPFLAGS_DEFAULT,
        .slots = slots,
    };
    PyObject *type = PyType_FromSpec(&spec);
    if (!type)
        return -1;
    int result = PyModule_AddObject(module, "MemoryRegion", type);
    if (result < 0)
        Py_DECREF(type);
    return result;
}
