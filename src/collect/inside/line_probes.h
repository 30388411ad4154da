/*
 * line_probes: lines before 3.12 without tracing, which slows down every instruction. A chosen function is evaluated in
 * a copy of its code in which the beginnings of lines have probes (probe_code.h): objects that, when an operator is used
 * on them, tell the clock of their line.
 *
 * The copies of 3.11 also tell of their calls (line_hook_enter, line_hook_leave): there the code itself may have been
 * changed so that it comes to its copy (line_entry.h).
 *
 * A frame changes over to the copy when it begins, and back when it has ended, if nobody else holds it. The function and
 * its code object stay what they are, but for the size of the stack that it asks for. Frames that somebody else looks
 * at (a debugger, a profiler), that have begun already or have no room are traced as ever (line_trace_slot.h).
 */
#ifndef SONDE_COLLECT_INSIDE_LINE_PROBES_H
#define SONDE_COLLECT_INSIDE_LINE_PROBES_H

#include "collect/inside/line_codes.h"

struct layout;

/* Without it nothing has probes. */
void line_probes_init(void);
/* The function has been chosen: frames that are made of it from now on shall have room. */
void line_probes_make_room(struct line_code *function);

/* Whether the function has a copy, which is made when somebody first asks: code that never runs stays untouched. */
bool line_probes_have_copy(struct line_code *function);
/* 3.11: a call that has begun in the function's own code goes on at the beginning of the copy. The reference to its code
 * becomes the caller's. */
void line_probes_arrive(void *frame, struct line_code *function);
/* NULL = nothing has probes. */
const struct layout *line_probes_layout(void);

/* If the frame, which is to be evaluated, can change over to the function's copy, it does. Returns the code that it had,
 * for line_probes_take_out after the evaluation; NULL when it stays as it is. */
PyObject *line_probes_put_in(PyThreadState *state, void *frame, struct line_code *function);
void line_probes_take_out(void *frame, struct line_code *function, PyObject *code);
/* Whether the frame has changed over, now or when it began. */
static inline bool line_probes_are_in(void *frame, const struct line_code *function)
{
    return function->probed && interpreter_evaluated_code(frame) == function->probed;
}
/* The line where a frame that has probes goes on; 0 = it begins. */
uint32_t line_probes_line(void *frame, struct line_code *function);

#endif
