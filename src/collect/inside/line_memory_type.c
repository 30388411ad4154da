#include "collect/inside/line_memory_type.h"

#include "collect/inside/line_clock.h"
#include "collect/inside/line_session.h"
#include "collect/inside/memory_region.h"

struct line_memory_object {
    PyObject base;
    PyObject *codes;             /* list */
    struct memory_region region; /* makes allocations be counted; where they cannot be, it has not begun */
    bool enabled;
};

static bool is_ready(const struct line_memory_object *self)
{
    if (!self->codes)
        PyErr_SetString(PyExc_RuntimeError, "LineMemory.__init__ was not called");
    return self->codes;
}

static PyObject *memory_add(PyObject *object, PyObject *code)
{
    struct line_memory_object *self = (struct line_memory_object *)object;
    if (!is_ready(self))
        return NULL;
    if (!PyObject_TypeCheck(code, interpreter.code_type)) {
        PyErr_SetString(PyExc_TypeError, "a code object is needed");
        return NULL;
    }
    if (PyList_Append(self->codes, code) < 0)
        return NULL;
    if (self->enabled)
        line_session_choose(code);
    Py_RETURN_NONE;
}

/* The blocks of a code object's lines, one after the other; 0 = there is none more. */
static uint32_t next_block(PyObject *code, uint32_t after)
{
    struct arena *arena = line_session_arena();
    const struct line_code *function = line_codes_find(code);
    for (uint32_t i = after + 1; arena && function && function->code_row && i < arena->line_block_count; i++)
        if (arena_line_blocks(arena)[i].code == function->code_row)
            return i;
    return 0;
}

static void forget_rows(PyObject *code)
{
    struct arena *arena = line_session_arena();
    for (uint32_t i = next_block(code, 0); i; i = next_block(code, i)) {
        const struct arena_line_block *block = &arena_line_blocks(arena)[i];
        for (uint32_t row = 0; row < block->line_count; row++)
            arena_line_memory(arena)[block->first_row + row] = (struct arena_line_memory){0};
    }
}

static PyObject *memory_enable(PyObject *object, PyObject *unused)
{
    struct line_memory_object *self = (struct line_memory_object *)object;
    char why[200] = "";
    (void)unused;
    if (!is_ready(self))
        return NULL;
    if (line_clock.memory) {
        PyErr_SetString(PyExc_RuntimeError, "the memory of lines is being measured already");
        return NULL;
    }
    if (line_session_share(why, sizeof why) < 0) {
        PyErr_SetString(PyExc_RuntimeError, why);
        return NULL;
    }
    for (Py_ssize_t i = 0; i < PyList_Size(self->codes); i++) {
        line_session_choose(PyList_GetItem(self->codes, i));
        forget_rows(PyList_GetItem(self->codes, i));
    }
    memory_region_begin(&self->region, true, why, sizeof why);
    line_memory_begin(self->region.before ? line_session_heap() : (struct line_memory_heap){0}, 0);
    self->enabled = true;
    Py_RETURN_NONE;
}

static void disable(struct line_memory_object *self)
{
    if (!self->enabled)
        return;
    self->enabled = false;
    line_memory_end();
    memory_region_abandon(&self->region);
    line_session_unshare();
}

static PyObject *memory_disable(PyObject *object, PyObject *unused)
{
    (void)unused;
    disable((struct line_memory_object *)object);
    Py_RETURN_NONE;
}

/* ---- results ---- */

static PyObject *row_of(uint32_t line, const struct arena_line_memory *memory)
{
    return Py_BuildValue("IKLKLK", line, (unsigned long long)memory->hits,
                         (long long)memory->rss_growth_bytes, (unsigned long long)memory->rss_bytes,
                         (long long)memory->heap_growth_bytes, (unsigned long long)memory->heap_bytes);
}

static int add_rows(PyObject *rows, const struct arena_line_block *block)
{
    const struct arena_line_memory *memory = &arena_line_memory(line_session_arena())[block->first_row];
    for (uint32_t i = 0; i < block->line_count; i++) {
        PyObject *row = memory[i].hits ? row_of(block->first_line + i, &memory[i]) : NULL;
        int failed = memory[i].hits && (!row || PyList_Append(rows, row) < 0);
        Py_XDECREF(row);
        if (failed)
            return -1;
    }
    return 0;
}

static PyObject *rows_of(PyObject *code)
{
    PyObject *rows = PyList_New(0);
    for (uint32_t i = next_block(code, 0); rows && i; i = next_block(code, i))
        if (add_rows(rows, &arena_line_blocks(line_session_arena())[i]) < 0)
            Py_CLEAR(rows);
    return rows;
}

static PyObject *memory_rows(PyObject *object, PyObject *unused)
{
    struct line_memory_object *self = (struct line_memory_object *)object;
    (void)unused;
    if (!is_ready(self))
        return NULL;
    PyObject *result = PyList_New(0);
    for (Py_ssize_t i = 0; result && i < PyList_Size(self->codes); i++) {
        PyObject *code = PyList_GetItem(self->codes, i), *rows = rows_of(code);
        PyObject *pair = rows ? PyTuple_Pack(2, code, rows) : NULL;
        if (!pair || PyList_Append(result, pair) < 0)
            Py_CLEAR(result);
        Py_XDECREF(pair);
        Py_XDECREF(rows);
    }
    return result;
}

/* ---- the type ---- */

static int memory_init(PyObject *object, PyObject *arguments, PyObject *names)
{
    struct line_memory_object *self = (struct line_memory_object *)object;
    char why[200] = "";
    (void)arguments, (void)names;
    if (self->codes)
        return 0;
    if (interpreter_init(why, sizeof why) < 0) {
        PyErr_SetString(PyExc_RuntimeError, why);
        return -1;
    }
    self->codes = PyList_New(0);
    return self->codes ? 0 : -1;
}

static void memory_free(PyObject *object)
{
    struct line_memory_object *self = (struct line_memory_object *)object;
    PyTypeObject *type = Py_TYPE(object);
    disable(self);
    Py_XDECREF(self->codes);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

int line_memory_type_add(PyObject *module)
{
    static PyMethodDef methods[] = {
        {"add_code", memory_add, METH_O, "Measure the lines of a code object."},
        {"enable", memory_enable, METH_NOARGS, "Begin at 0, in all threads."},
        {"disable", memory_disable, METH_NOARGS, "Stop."},
        {"rows", memory_rows, METH_NOARGS,
         "rows() -> [(code, [(line, hits, rss_growth, rss, heap_growth, heap), ...]), ...], in bytes"},
        {NULL, NULL, 0, NULL},
    };
    static PyType_Slot slots[] = {
        {Py_tp_init, memory_init},
        {Py_tp_dealloc, memory_free},
        {Py_tp_methods, methods},
        {Py_tp_doc, "Memory of lines in this process, under the program's control."},
        {0, NULL},
    };
    static PyType_Spec spec = {
        .name = "sonde._inside.LineMemory",
        .basicsize = sizeof(struct line_memory_object),
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
        .slots = slots,
    };
    PyObject *type = PyType_FromSpec(&spec);
    if (!type)
        return -1;
    int result = PyModule_AddObject(module, "LineMemory", type);
    if (result < 0)
        Py_DECREF(type);
    return result;
}
