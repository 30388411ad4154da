/*
 * line_discovery: new code, before it runs, without the evaluation hook (3.11). Functions come from the body of a module
 * or whatever else exec and eval run, or are made of a code object by the program. So these are told of: the hook is there
 * until a body has begun, which is looked at with all functions in it; code that is put into a function is looked at then.
 * The main program, which the interpreter runs without exec, is awaited from the start.
 *
 * The interpreter's own tables of methods are changed for that, not the objects: a program sees no difference.
 */
#ifndef SONDE_COLLECT_INSIDE_LINE_DISCOVERY_H
#define SONDE_COLLECT_INSIDE_LINE_DISCOVERY_H

#include "collect/inside/interpreter.h"

/* Looks at all functions that there are, if any are looked for. Whether all that come will be told of; again: nothing more
 * happens. */
bool line_discovery_begin(bool looks);

/* Nothing was looked at while the hook was away for a time: what came meanwhile is looked at now. */
void line_discovery_catch_up(void);

/* Bodies that are about to run. */
extern uint32_t line_discovery_awaited;
/* The hook has met code, in the thread that runs it. */
void line_discovery_meet(PyObject *code, PyObject *globals);

#endif
