/*
 * line_targets: which functions were asked for. That may be all that a trace's filters take, but for libraries. Else a target is a dotted name (function, class, module, package; without the
 * module's name it means the main program's), the path of a file or folder, or file:line, the function that has the
 * line. A code object is looked at when it is called for the first time: so functions are found whenever and however
 * they are made, by an import, a reload or exec, without watching any of these.
 */
#ifndef SONDE_COLLECT_INSIDE_LINE_TARGETS_H
#define SONDE_COLLECT_INSIDE_LINE_TARGETS_H

#include "collect/inside/interpreter.h"

struct filter;
struct session;

/* The session's texts must stay. `libraries`: which files are library's. 0, or -1 with words. */
int line_targets_init(const struct session *session, const struct filter *libraries, char *why,
                      size_t why_bytes);
/* The targets that mean the code's function, a bit for each; the last stands for all beyond. `module` is the name of the
 * module that it runs in, may be NULL. Called without an exception, and leaves none. */
uint64_t line_targets_match(PyObject *code, PyObject *module);
/* Before 3.12 code is looked through before it runs, and `found` told of each function in it. Before 3.11 code does not
 * know its qualified name, and only the body of a module is. */
void line_targets_look_through(PyObject *code, PyObject *module,
                               void (*found)(PyObject *code, uint64_t targets));

#endif
