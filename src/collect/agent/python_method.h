/*
 * python_method: a function of ours as CPython describes it (PyMethodDef), for libraries that have no Python.h and find what
 * they call by name.
 */
#ifndef SONDE_COLLECT_AGENT_PYTHON_METHOD_H
#define SONDE_COLLECT_AGENT_PYTHON_METHOD_H

struct python_object;

typedef struct python_object *python_function(struct python_object *self, struct python_object *arguments);

struct python_method {
    const char *name;
    python_function *function;
    int flags;
    const char *text;
};

enum { PYTHON_METHOD_ARGUMENTS = 1, PYTHON_METHOD_KEYWORDS = 2, PYTHON_METHOD_NONE = 4 };

#endif
