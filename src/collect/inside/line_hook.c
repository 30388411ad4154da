#include "collect/inside/line_hook.h"

#include <string.h>

#include "collect/inside/frame_hook.h"
#include "collect/inside/line_clock.h"
#include "collect/inside/line_debugger.h"
#include "collect/inside/line_probes.h"
#include "collect/inside/line_session.h"
#include "collect/inside/line_trace_slot.h"
#include "collect/inside/setprofile.h"

static int (*line_of_frame)(PyFrameObject *);
static bool is_active;

/* ---- lines ---- */

/* The frame runs now, so that its function can be described; and a generator that goes on tells where. */
static void take_call(struct line_thread *thread, struct arena_line_call *call, PyFrameObject *frame)
{
    struct line_code *function = (struct line_code *)call->owner;
    if (!function->line_count)
        line_codes_describe(function);
    if (!call->line_count)
        line_clock_set_rows(thread, function, call);
    if (!function->is_generator || call->row)
        return;
    uint32_t line = (uint32_t)line_of_frame(frame);
    if (line != function->first_line) /* it does not just begin */
        line_clock_go_on(call, line);
}

/* The hook has not seen the call begin, and will not see it end. */
static void end_midway(struct line_thread *thread, const struct arena_line_call *call, uint64_t now)
{
    line_clock_leave(thread, (struct line_code *)call->owner, now);
    line_trace_slot_switch(PyThreadState_Get(), false);
}

/* All but the lines of the innermost call, when the slot is ours alone. */
static __attribute__((noinline)) int take_event(PyObject *object, PyFrameObject *frame, int what,
                                                PyObject *argument)
{
    uint64_t now = line_clock_now();
    struct line_thread *thread = line_clock_present();
    struct arena_line_call *call = thread->top;
    if (call->key == (uint64_t)interpreter_frame_code(frame)) {
        if (what == EVENT_LINE)
            line_clock_line(call, line_trace_slot_line(frame), now);
        else if (what == EVENT_CALL)
            take_call(thread, call, frame);
        else if (what == EVENT_RETURN && call->midway)
            end_midway(thread, call, now);
    }
    return object ? line_trace_slot_pass_on(object, frame, what, argument) : 0;
}

static int on_event(PyObject *object, PyFrameObject *frame, int what, PyObject *argument)
{
    struct arena_line_call *call = line_clock_own->top;
    if (__builtin_expect(what != EVENT_LINE || object, 0) ||
        call->key != (uint64_t)interpreter_frame_code(frame))
        return take_event(object, frame, what, argument);
    line_clock_line(call, line_trace_slot_line(frame), line_clock_now());
    return __builtin_expect(line_memory.is_over_limit, 0) ? line_debugger_stop() : 0;
}

/* ---- calls ---- */

static PyObject *globals_of(void *frame)
{
    return *(PyObject **)((char *)frame + (interpreter.minor >= 11 ? 1 : 6) * sizeof(void *));
}

/* Beyond the first part of a thread's stack the interpreter is let alone, until this frame has ended. */
static PyObject *evaluate_alone(PyThreadState *state, void *frame, int throwing);

static PyObject *evaluate_chosen(PyThreadState *state, void *frame, int throwing, struct line_code *function)
{
    struct line_thread *thread = line_clock_thread();
    bool has_probes = line_probes_are_in(frame, function);
    uint32_t line = has_probes ? line_probes_line(frame, function) : 0;
    if (!thread || interpreter_only_makes_generator(frame, (PyObject *)function->code) ||
        !line_clock_enter(thread, function, line, line_clock_now()))
        return frame_hook_inner(state, frame, throwing);
    unsigned char before = line_trace_slot_switch(state, !has_probes);
    PyObject *result = frame_hook_stack_is_short() ? evaluate_alone(state, frame, throwing)
                                                   : frame_hook_inner(state, frame, throwing);
    line_trace_slot_switch_back(state, before);
    line_clock_leave(line_clock_present(), function, line_clock_now());
    return result;
}

/* With probes in its code where it can have them, and nobody else looks. Not where memory is measured: the copy is made
 * while the caller's line runs, and would be its growth. */
static PyObject *evaluate_probed(PyThreadState *state, void *frame, int throwing, struct line_code *function)
{
    PyObject *code = NULL;
    if (frame_hook_inner == interpreter.evaluate_default && line_trace_slot_is_free(state) &&
        !line_clock.memory && !frame_hook_stack_is_short())
        code = line_probes_put_in(state, frame, function);
    PyObject *result = evaluate_chosen(state, frame, throwing, function);
    if (code)
        line_probes_take_out(frame, function, code);
    return result;
}

/* What a chosen line calls is not traced, but timed. */
static PyObject *evaluate_callee(PyThreadState *state, void *frame, int throwing, PyObject *code)
{
    if (interpreter_only_makes_generator(frame, code))
        return frame_hook_inner(state, frame, throwing);
    line_clock_enter_callee(line_clock_own, (uint64_t)code, line_clock_now());
    unsigned char before = line_trace_slot_switch(state, false);
    PyObject *result = frame_hook_inner(state, frame, throwing);
    line_trace_slot_switch_back(state, before);
    line_clock_leave_callee(line_clock_present(), (uint64_t)code, line_clock_now());
    return result;
}

static PyObject *evaluate_comprehension(PyThreadState *state, void *frame, int throwing)
{
    unsigned char before = line_trace_slot_switch(state, false);
    PyObject *result = frame_hook_inner(state, frame, throwing);
    line_trace_slot_switch_back(state, before);
    return result;
}

static __attribute__((noinline)) PyObject *evaluate_known(PyThreadState *state, void *frame, int throwing,
                                                          struct line_code *function)
{
    PyObject *code = interpreter_evaluated_code(frame);
    if (!function || line_codes_is_stale(function))
        function = line_session_look(code, globals_of(frame));
    if (function && function->choice == LINE_CHOSEN && function->code)
        return evaluate_probed(state, frame, throwing, function);
    if (!line_clock_in_line(line_clock_own))
        return frame_hook_inner(state, frame, throwing);
    if (function && function->is_comprehension)
        return evaluate_comprehension(state, frame, throwing);
    return evaluate_callee(state, frame, throwing, code);
}

static PyObject *evaluate(PyThreadState *state, void *frame, int throwing)
{
    struct line_code *function = line_codes_find(interpreter_evaluated_code(frame));
    if (__builtin_expect(function == line_codes_other && !line_clock_in_line(line_clock_own), 1))
        return frame_hook_inner(state, frame, throwing);
    return evaluate_known(state, frame, throwing, function);
}

static PyObject *evaluate_alone(PyThreadState *state, void *frame, int throwing)
{
    frame_hook_put_around(NULL);
    PyObject *result = frame_hook_inner(state, frame, throwing);
    if (line_clock.trace && is_active)
        frame_hook_put_around(evaluate);
    line_session_note(
        "the program recursed so deeply that lines below were counted with those of the function "
        "that called them, or not at all");
    return result;
}

void line_hook_begin_running(PyObject *code, PyObject *frame)
{
    struct line_code *function = line_codes_find(code);
    struct line_thread *thread = (PyObject *)PyEval_GetFrame() == frame ? line_clock_thread() : NULL;
    if (!thread || !function || function->open)
        return;
    if (!function->line_count)
        line_codes_describe(function);
    struct arena_line_call *call = line_clock_enter(thread, function, 0, line_clock_now());
    if (!call)
        return;
    call->midway = 1;
    line_trace_slot_switch(PyThreadState_Get(), true);
}

int line_hook_begin(char *why, size_t why_bytes)
{
    frame_hook_is_possible(); /* makes 3.11 call the hook always, if it can be had */
    *(void **)&line_of_frame = interpreter_find("PyFrame_GetLineNumber");
    if (line_trace_slot_init(on_event, why, why_bytes) < 0)
        return -1;
    frame_hook_put_around(evaluate);
    is_active = true;
    return 0;
}

void line_hook_end(void)
{
    is_active = false;
    frame_hook_put_around(NULL);
}
