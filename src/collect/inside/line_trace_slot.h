/*
 * line_trace_slot: a thread's trace function before 3.12, ours, switched on and off in no time: the interpreter looks at a
 * flag (3.10, 3.11) or at the function itself and a count of such threads (3.9) before each instruction. Where these lie
 * is tried out once, before the program runs.
 *
 * A debugger or coverage that sets a trace function of its own keeps it: we stand in its place, and pass everything on.
 * Then the thread's tracing stays on, since theirs must be told of all code.
 */
#ifndef SONDE_COLLECT_INSIDE_LINE_TRACE_SLOT_H
#define SONDE_COLLECT_INSIDE_LINE_TRACE_SLOT_H

#include "collect/inside/interpreter.h"

/* The function is told of each line of code that runs while tracing is on, with the frame; of more, which it must pass
 * over, when the slot is shared. 0, or -1 with words. */
int line_trace_slot_init(interpreter_profile_function *function, char *why, size_t why_bytes);

/* Switches tracing of what is evaluated next in the thread, of which `state` is; what it was before, for the way back. */
unsigned char line_trace_slot_switch(PyThreadState *state, bool on);
void line_trace_slot_switch_back(PyThreadState *state, unsigned char before);

/* Nobody is told of anything in the thread, until it is switched again. Whether somebody was. */
bool line_trace_slot_pause(PyThreadState *state);

/* Whether nobody else's trace or profile function is there. */
bool line_trace_slot_is_free(PyThreadState *state);

/* The line of the frame that the function was told of. */
extern size_t line_trace_slot_line_offset;
static inline uint32_t line_trace_slot_line(PyFrameObject *frame)
{
    return *(uint32_t *)((char *)frame + line_trace_slot_line_offset);
}

/* Passes an event on to the program's own trace function, if there is one. */
int line_trace_slot_pass_on(PyObject *object, PyFrameObject *frame, int what, PyObject *argument);

#endif
