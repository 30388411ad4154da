/*
 * interpreter: the few things of CPython that the stable ABI does not offer, found at run time, so that one
 * build serves every version from 3.9 on.
 *
 * Object layouts used here (built-in functions, method descriptors, frames of 3.9 to 3.11) have been the same
 * in all those versions; interpreter_init checks them against what the interpreter itself answers and refuses
 * when they differ.
 */
#ifndef SONDE_COLLECT_INSIDE_INTERPRETER_H
#define SONDE_COLLECT_INSIDE_INTERPRETER_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x03090000
#include <Python.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int interpreter_profile_function(PyObject *object, PyFrameObject *frame, int what,
                                         PyObject *argument);
/* The frame is a PyFrameObject up to 3.10 and an interpreter frame in 3.11. */
typedef PyObject *interpreter_evaluate(PyThreadState *state, void *frame, int throwing);

struct interpreter {
    uint32_t version; /* PY_VERSION_HEX of the running one */
    int minor;
    bool has_monitoring;
    PyTypeObject *function_type, *code_type;
    PyTypeObject *method_descriptor_type;
    PyCodeObject *(*frame_code)(PyFrameObject *);
    PyFrameObject *(*frame_back)(PyFrameObject *);
    PyObject *(*type_lookup)(PyTypeObject *, PyObject *);
    PyObject *(*vectorcall_call)(PyObject *, PyObject *, PyObject *);
    PyInterpreterState *(*newest)(void); /* interpreter of the process */
    PyInterpreterState *(*older)(PyInterpreterState *);
    /* 3.9 to 3.11 */
    int (*set_profile_of)(PyThreadState *, interpreter_profile_function *, PyObject *);
    PyThreadState *(*first_thread)(PyInterpreterState *);
    PyThreadState *(*next_thread)(PyThreadState *);
    void (*set_evaluate)(PyInterpreterState *, interpreter_evaluate *);
    interpreter_evaluate *evaluate_default;
};

extern struct interpreter interpreter;

/* A symbol of the process, or NULL. */
void *interpreter_find(const char *name);
/* Once per process. 0, or -1 with words. */
int interpreter_init(char *why, size_t why_bytes);

/* All frames of all threads of the current interpreter, each thread's from the innermost outwards. */
void interpreter_each_frame(void (*look)(PyObject *frame));

/* Whether there are others than the main one now. */
static inline bool interpreter_has_others(void)
{
    return interpreter.newest && interpreter.older && interpreter.older(interpreter.newest());
}

/* The method table entry of a built-in function: what identifies it. */
static inline uint64_t interpreter_builtin_key(PyObject *function)
{
    return *(uint64_t *)((char *)function + 2 * sizeof(void *));
}

/* What a built-in function is bound to: its module, an object, for static methods the class; or NULL. */
static inline PyObject *interpreter_builtin_self(PyObject *function)
{
    return *(PyObject **)((char *)function + 3 * sizeof(void *));
}

/* The same of a method descriptor such as list.append. */
static inline uint64_t interpreter_descriptor_key(PyObject *descriptor)
{
    return *(uint64_t *)((char *)descriptor + 5 * sizeof(void *));
}

/* The code object of a frame that a profile function was given (3.9 to 3.11), without a new reference. */
static inline PyObject *interpreter_frame_code(PyFrameObject *frame)
{
    char *base = (char *)frame;
    if (interpreter.minor >= 11)
        base = *(char **)(base + 3 * sizeof(void *));
    return *(PyObject **)(base + 4 * sizeof(void *));
}

/* The code object of what an evaluation function was given (3.9 to 3.11). */
static inline PyObject *interpreter_evaluated_code(void *frame)
{
    return *(PyObject **)((char *)frame + 4 * sizeof(void *));
}

/* Whether the evaluation only makes a generator or coroutine, as a call of such a function does in 3.11: its body
 * has not begun. The frame then belongs to the thread, not to the generator. */
static inline bool interpreter_only_makes_generator(void *frame, PyObject *code)
{
    if (interpreter.minor != 11)
        return false;
    int flags = *(int *)((char *)code + 6 * sizeof(void *));
    char owner = *((char *)frame + 8 * sizeof(void *) + 5);
    return (flags & (0x20 | 0x80 | 0x200)) && owner == 0;
}

/* As PyObject_GetAttrString, but with one str for each name: the interpreter remembers what it looked up by the address of
 * that, and would keep many alive. */
PyObject *interpreter_attribute(PyObject *object, const char *name);
/* A UTF-8 copy of a str (surrogates escaped) as a bytes object; NULL, without an exception, on failure. */
PyObject *interpreter_utf8(PyObject *text);
/* That of an attribute; NULL, without an exception, also when it is missing or no str. */
PyObject *interpreter_attribute_utf8(PyObject *object, const char *name);

#endif
