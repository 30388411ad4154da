#include "collect/inside/code_notes.h"

#include <stdio.h>
#include <string.h>

size_t code_notes_offset;

static Py_ssize_t (*request_index)(freefunc);
static int (*set_extra)(PyObject *, Py_ssize_t, void *);

static void *find_either(const char *name, const char *older)
{
    void *found = interpreter_find(name);
    return found ? found : interpreter_find(older);
}

/* The one word of a code object that setting a note changes into the address of a table which has it. */
static size_t find_offset(PyObject *code, const char *before, size_t bytes, Py_ssize_t index, void *note)
{
    for (size_t at = sizeof(PyObject); at + sizeof(void *) <= bytes; at += sizeof(void *)) {
        const struct code_notes_table *table = *(const struct code_notes_table **)((char *)code + at);
        if (table && memcmp((char *)code + at, before + at, sizeof table) != 0 && table->count > index &&
            table->notes[index] == note)
            return at;
    }
    return 0;
}

/* With an index that nobody else has, and whose note nobody is told of. */
static size_t try_out(void)
{
    char before[512], note;
    Py_ssize_t index = request_index(NULL);
    PyObject *code = Py_CompileString("0", "sonde", Py_eval_input);
    PyObject *size = code ? PyObject_GetAttrString((PyObject *)Py_TYPE(code), "__basicsize__") : NULL;
    size_t bytes = size ? (size_t)PyLong_AsLong(size) : 0, found = 0;
    if (bytes > sizeof before)
        bytes = sizeof before;
    if (bytes)
        memcpy(before, code, bytes);
    if (bytes && index >= 0 && set_extra(code, index, &note) == 0)
        found = find_offset(code, before, bytes, index, &note);
    Py_XDECREF(size);
    Py_XDECREF(code);
    PyErr_Clear();
    return found;
}

Py_ssize_t code_notes_open(freefunc forget, char *why, size_t why_bytes)
{
    *(void **)&request_index =
        find_either("PyUnstable_Eval_RequestCodeExtraIndex", "_PyEval_RequestCodeExtraIndex");
    *(void **)&set_extra = find_either("PyUnstable_Code_SetExtra", "_PyCode_SetExtra");
    if (!code_notes_offset && request_index && set_extra)
        code_notes_offset = try_out();
    Py_ssize_t index = code_notes_offset ? request_index(forget) : -1;
    if (index >= 0)
        return index;
    snprintf(why, why_bytes, "this CPython does not let sonde keep notes about functions");
    return -1;
}

int code_notes_set(PyObject *code, Py_ssize_t index, void *note)
{
    return set_extra(code, index, note);
}
