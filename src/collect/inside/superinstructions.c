#include "collect/inside/superinstructions.h"

#include <string.h>

#define PAIRS_MAX   16
#define WAITING_MAX 256

/* One unit of bytecode. */
struct unit {
    uint8_t opcode, argument;
};

static struct {
    uint8_t first, second, joined;
} pairs[PAIRS_MAX];
static uint32_t pair_count;
static size_t bytecode_offset; /* in a code object */
static PyObject *waiting[WAITING_MAX];
static uint32_t waiting_count;

static struct unit *units_of(PyObject *code)
{
    return (struct unit *)((char *)code + bytecode_offset);
}

/* The bytecode without events, joined pairs and specialisation; NULL when it cannot be had. */
static PyObject *plain_code(PyObject *code, size_t *count)
{
    PyObject *bytes = PyObject_GetAttrString(code, "co_code");
    if (!bytes)
        PyErr_Clear();
    *count = bytes ? (size_t)PyBytes_Size(bytes) / sizeof(struct unit) : 0;
    return bytes;
}

static uint8_t joined(uint8_t first, uint8_t second)
{
    for (uint32_t i = 0; i < pair_count; i++)
        if (pairs[i].first == first && pairs[i].second == second)
            return pairs[i].joined;
    return 0;
}

/* What differs from the plain code, in code that has not run, are joined pairs. */
static void learn_from(PyObject *code)
{
    size_t count;
    PyObject *bytes = plain_code(code, &count);
    const struct unit *plain = bytes ? (const struct unit *)PyBytes_AsString(bytes) : NULL;
    const struct unit *units = units_of(code);
    for (size_t i = 0; plain && i + 1 < count && pair_count < PAIRS_MAX; i++) {
        if (units[i].argument != plain[i].argument && plain[i].opcode) {
            pair_count = 0; /* not where we thought it was */
            break;
        }
        if (!plain[i].opcode || units[i].opcode == plain[i].opcode ||
            joined(plain[i].opcode, plain[i + 1].opcode))
            continue;
        pairs[pair_count].first = plain[i].opcode;
        pairs[pair_count].second = plain[i + 1].opcode;
        pairs[pair_count++].joined = units[i].opcode;
    }
    Py_XDECREF(bytes);
}

void superinstructions_learn(void)
{
    static const char program[] = "def f(a, b):\n x = y = a\n z = b\n return (a, b, 1, a, [a, 1, b], z, x)\n";
    if (interpreter.minor != 12 || pair_count)
        return;
    PyObject *module = Py_CompileString(program, "sonde", Py_file_input);
    PyObject *constants = module ? PyObject_GetAttrString(module, "co_consts") : NULL;
    PyObject *code = constants ? PySequence_GetItem(constants, 0) : NULL;
    PyObject *size = code ? PyObject_GetAttrString((PyObject *)Py_TYPE(code), "__basicsize__") : NULL;
    bytecode_offset = size ? (size_t)PyLong_AsLong(size) : 0;
    if (bytecode_offset && Py_TYPE(code) == Py_TYPE(module))
        learn_from(code);
    Py_XDECREF(size);
    Py_XDECREF(code);
    Py_XDECREF(constants);
    Py_XDECREF(module);
    PyErr_Clear();
}

/* Instructions that have events are not what they are in the plain code, and stay as they are. */
static void restore(PyObject *code)
{
    size_t count;
    PyObject *bytes = plain_code(code, &count);
    const struct unit *plain = bytes ? (const struct unit *)PyBytes_AsString(bytes) : NULL;
    struct unit *units = units_of(code);
    for (size_t i = 1; plain && i < count; i++) {
        uint8_t both = joined(plain[i - 1].opcode, plain[i].opcode);
        if (both && units[i - 1].opcode == plain[i - 1].opcode && units[i].opcode == plain[i].opcode)
            units[i - 1].opcode = both;
    }
    Py_XDECREF(bytes);
}

static int restore_waiting(void *unused)
{
    (void)unused;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    while (waiting_count > 0) {
        PyObject *code = waiting[--waiting_count];
        restore(code);
        Py_DECREF(code);
    }
    PyErr_Restore(type, value, traceback);
    return 0;
}

void superinstructions_restore_soon(PyObject *code)
{
    if (!pair_count || waiting_count == WAITING_MAX)
        return;
    if (!waiting_count && Py_AddPendingCall(restore_waiting, NULL) < 0)
        return;
    Py_INCREF(code);
    waiting[waiting_count++] = code;
}
