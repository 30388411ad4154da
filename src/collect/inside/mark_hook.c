#include "collect/inside/mark_hook.h"

#include <stdio.h>
#include <string.h>

#include "collect/inside/events.h"
#include "collect/inside/frame_hook.h"
#include "collect/inside/marks.h"

static PyObject *evaluate(PyThreadState *state, void *frame, int throwing);

/* Under a hook 3.11 uses the C stack for calls, which it otherwise spares: beyond the first part of a thread's stack it is let
 * alone, until this frame has ended. */
static PyObject *evaluate_alone(PyThreadState *state, void *frame, int throwing)
{
    static const char text[] = "the program recursed so deeply that marked functions below are not seen";
    events_mark(events_name(EVENTS_MARK, "sonde", 5), text, sizeof text - 1);
    frame_hook_put_outermost(NULL);
    PyObject *result = frame_hook_within(state, frame, throwing);
    frame_hook_put_outermost(evaluate);
    return result;
}

static PyObject *evaluate_inner(PyThreadState *state, void *frame, int throwing)
{
    bool alone = interpreter.minor == 11 && frame_hook_stack_is_short();
    return alone ? evaluate_alone(state, frame, throwing) : frame_hook_within(state, frame, throwing);
}

static __attribute__((noinline)) PyObject *evaluate_marked(PyThreadState *state, void *frame, int throwing,
                                                           struct mark_code *marked)
{
    PyObject *code = interpreter_evaluated_code(frame);
    if (marks_are_named() || interpreter_only_makes_generator(frame, code))
        return frame_hook_within(state, frame, throwing);
    uint32_t count = marked->count, regions[marked->count];
    marks_begin(marked, &(struct mark_call){.code = code, .frame = frame}, regions);
    PyObject *result = evaluate_inner(state, frame, throwing);
    marks_end(regions, count);
    return result;
}

static PyObject *evaluate(PyThreadState *state, void *frame, int throwing)
{
    struct mark_code *marked = marks_find(interpreter_evaluated_code(frame));
    if (__builtin_expect(!marked, 0))
        marked = marks_look(interpreter_evaluated_code(frame));
    if (__builtin_expect(!marked->count, 1))
        return evaluate_inner(state, frame, throwing);
    return evaluate_marked(state, frame, throwing, marked);
}

int mark_hook_begin(char *why, size_t why_bytes)
{
    if (!frame_hook_is_possible()) {
        snprintf(why, why_bytes, "this CPython does not let sonde see the calls of marked functions");
        return -1;
    }
    frame_hook_put_outermost(evaluate);
    return 0;
}
