#include "collect/inside/line_hook.h"

#include <string.h>

#include "collect/inside/frame_hook.h"
#include "collect/inside/line_clock.h"
#include "collect/inside/line_debugger.h"
#include "collect/inside/line_discovery.h"
#include "collect/inside/line_entry.h"
#include "collect/inside/line_probes.h"
#include "collect/inside/line_session.h"
#include "collect/inside/line_trace_slot.h"
#include "collect/inside/profile_slot.h"
#include "collect/inside/setprofile.h"

static int (*line_of_frame)(PyFrameObject *);

static struct {
    bool has_begun;
    bool is_needed;  /* not only while a chosen line runs */
    bool is_watched; /* somebody else looks at calls of chosen functions: their code must be what it was */
    bool is_alone;   /* the stack is short: the interpreter must not be disturbed */
    bool is_on;
    bool is_paused, is_trace_paused;
} hook;

static PyObject *evaluate(PyThreadState *state, void *frame, int throwing);

/* ---- the hook itself ---- */

static inline void settle(void)
{
    bool on = hook.has_begun && line_clock.trace && !hook.is_alone &&
              (hook.is_needed || line_clock_threads_in_line || line_discovery_awaited);
    if (on == hook.is_on && !hook.is_paused)
        return;
    hook.is_paused = false;
    hook.is_on = on;
    frame_hook_put_around(on ? evaluate : NULL);
}

void line_hook_settle(void)
{
    settle();
}

bool line_hook_has_begun(void)
{
    return hook.has_begun;
}

static inline void settle_thread(struct line_thread *thread)
{
    if (interpreter.minor < 11)
        return;
    line_clock_note(thread);
    settle();
}

static bool nobody_else_looks(PyThreadState *state)
{
    return frame_hook_inner == interpreter.evaluate_default && line_trace_slot_is_free(state);
}

static bool is_watched(void)
{
    PyThreadState *state = interpreter.first_thread(PyInterpreterState_Get());
    while (!hook.is_watched && state) {
        hook.is_watched = !nobody_else_looks(state);
        state = interpreter.next_thread(state);
    }
    return hook.is_watched;
}

/* Whether the function's calls need no hook from now on. */
static bool announces(struct line_code *function)
{
    return function->entry_size ||
           (line_entry_is_possible() && !line_clock.memory && !is_watched() && line_entry_put_in(function));
}

void line_hook_review(void)
{
    hook.is_needed = !line_entry_is_possible() || hook.is_watched || line_session_is_looking();
    for (struct line_code *function = line_codes_first(); function; function = function->next)
        if (function->code && function->choice == LINE_CHOSEN && !announces(function))
            hook.is_needed = true;
    settle();
}

void line_hook_choose(struct line_code *function)
{
    if (!hook.has_begun || announces(function))
        return;
    hook.is_needed = true;
    settle();
}

static void restore_code(void)
{
    for (struct line_code *function = line_codes_first(); function; function = function->next)
        line_entry_take_out(function);
}

/* A debugger or profiler is to see code as it was. */
static __attribute__((noinline)) void be_watched(void)
{
    hook.is_watched = hook.is_needed = true;
    restore_code();
}

void line_hook_pause(PyThreadState *state)
{
    if (frame_hook_is_there()) {
        frame_hook_pause();
        hook.is_paused = true;
    }
    hook.is_trace_paused = line_trace_slot_pause(state);
}

/* ---- calls that announce themselves ---- */

static __attribute__((noinline)) void end_pause(void)
{
    PyThreadState *state = PyThreadState_Get();
    hook.is_trace_paused = false;
    line_trace_slot_switch(state, false);
    if (!nobody_else_looks(state))
        be_watched();
}

/* Code that began to run before the end may tell of itself for long after it. */
static struct line_thread *thread_for(const struct line_code *function)
{
    bool timed = hook.has_begun && function->choice == LINE_CHOSEN && line_clock.trace;
    return timed ? line_clock_thread() : NULL;
}

void line_hook_enter(struct line_code *function, uint32_t line)
{
    if (__builtin_expect(hook.is_trace_paused || frame_hook_inner != interpreter.evaluate_default, 0))
        end_pause();
    struct line_thread *thread = thread_for(function);
    if (thread) {
        line_clock_enter(thread, function, line, line_clock_now());
        line_clock_note(thread);
    }
    settle();
}

void line_hook_leave(struct line_code *function)
{
    struct line_thread *thread = line_clock_present();
    if (!line_clock.trace)
        return;
    line_clock_leave(thread, function, line_clock_now());
    settle_thread(thread);
}

struct arena_line_call *line_hook_find(struct line_code *function)
{
    struct arena_line_call *call = line_clock_present()->top;
    if (call->owner == (uint64_t)function)
        return call;
    struct line_thread *thread = interpreter.minor >= 11 ? thread_for(function) : NULL;
    if (!thread)
        return NULL;
    call = line_clock_find(thread, function, line_clock_now());
    settle_thread(thread);
    return call;
}

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
    if (line_clock.is_logged && !profile_slot_is_active()) /* which is told of the call only now */
        line_clock_log_rest(call->key, line_clock_now());
}

/* The hook has not seen the call begin, and will not see it end. */
static void end_midway(struct line_thread *thread, const struct arena_line_call *call, uint64_t now)
{
    line_clock_leave(thread, (struct line_code *)call->owner, now);
    settle_thread(thread);
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

/* Its code tells of the call. */
static PyObject *evaluate_announced(PyThreadState *state, void *frame, int throwing)
{
    unsigned char before = line_trace_slot_switch(state, false);
    PyObject *result = frame_hook_stack_is_short() ? evaluate_alone(state, frame, throwing)
                                                   : frame_hook_inner(state, frame, throwing);
    line_trace_slot_switch_back(state, before);
    return result;
}

static PyObject *evaluate_chosen(PyThreadState *state, void *frame, int throwing, struct line_code *function)
{
    struct line_thread *thread = line_clock_thread();
    bool has_probes = line_probes_are_in(frame, function);
    uint32_t line = has_probes ? line_probes_line(frame, function) : 0;
    if (!thread || interpreter_only_makes_generator(frame, (PyObject *)function->code) ||
        !line_clock_enter(thread, function, line, line_clock_now()))
        return frame_hook_inner(state, frame, throwing);
    settle_thread(thread);
    unsigned char before = line_trace_slot_switch(state, !has_probes);
    PyObject *result = frame_hook_stack_is_short() ? evaluate_alone(state, frame, throwing)
                                                   : frame_hook_inner(state, frame, throwing);
    line_trace_slot_switch_back(state, before);
    line_clock_leave(line_clock_present(), function, line_clock_now());
    settle_thread(line_clock_present());
    return result;
}

/* With probes in its code where it can have them, and nobody else looks. Not where memory is measured: the copy is made
 * while the caller's line runs, and would be its growth. */
static PyObject *evaluate_probed(PyThreadState *state, void *frame, int throwing, struct line_code *function)
{
    PyObject *code = NULL;
    if (nobody_else_looks(state) && !line_clock.memory && !frame_hook_stack_is_short())
        code = line_probes_put_in(state, frame, function);
    PyObject *result = interpreter.minor >= 11 && line_probes_are_in(frame, function)
                           ? evaluate_announced(state, frame, throwing)
                           : evaluate_chosen(state, frame, throwing, function);
    if (code)
        line_probes_take_out(frame, function, code);
    return result;
}

static PyObject *evaluate_one_of_ours(PyThreadState *state, void *frame, int throwing,
                                      struct line_code *function)
{
    if (function->entry_size && !nobody_else_looks(state))
        be_watched();
    if (!function->entry_size && announces(function))
        line_hook_review();
    return function->entry_size ? evaluate_announced(state, frame, throwing)
                                : evaluate_probed(state, frame, throwing, function);
}

/* What a chosen line calls is not traced, but timed. */
static PyObject *evaluate_callee(PyThreadState *state, void *frame, int throwing, PyObject *code)
{
    if (interpreter_only_makes_generator(frame, code))
        return frame_hook_inner(state, frame, throwing);
    line_clock_enter_callee(line_clock_own, (uint64_t)code, line_clock_now());
    settle_thread(line_clock_own);
    unsigned char before = line_trace_slot_switch(state, false);
    PyObject *result = frame_hook_inner(state, frame, throwing);
    line_trace_slot_switch_back(state, before);
    line_clock_leave_callee(line_clock_present(), (uint64_t)code, line_clock_now());
    settle_thread(line_clock_present());
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
    if (line_discovery_awaited)
        line_discovery_meet(code, globals_of(frame));
    if (!function || line_codes_is_stale(function))
        function = line_session_look(code, globals_of(frame));
    if (function && function->choice == LINE_CHOSEN && function->code)
        return evaluate_one_of_ours(state, frame, throwing, function);
    if (!line_clock_in_line(line_clock_own))
        return frame_hook_inner(state, frame, throwing);
    if (function && function->is_comprehension)
        return evaluate_comprehension(state, frame, throwing);
    return evaluate_callee(state, frame, throwing, code);
}

static PyObject *evaluate(PyThreadState *state, void *frame, int throwing)
{
    struct line_code *function = line_codes_find(interpreter_evaluated_code(frame));
    if (__builtin_expect(function == line_codes_other && !line_clock_in_line(line_clock_own), 1) &&
        !line_discovery_awaited)
        return frame_hook_inner(state, frame, throwing);
    return evaluate_known(state, frame, throwing, function);
}

static PyObject *evaluate_alone(PyThreadState *state, void *frame, int throwing)
{
    hook.is_alone = true;
    settle();
    PyObject *result = frame_hook_inner(state, frame, throwing);
    hook.is_alone = false;
    settle();
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
    settle_thread(thread);
    line_trace_slot_switch(PyThreadState_Get(), true);
}

int line_hook_begin(char *why, size_t why_bytes)
{
    frame_hook_is_possible(); /* makes 3.11 call the hook always, if it can be had */
    *(void **)&line_of_frame = interpreter_find("PyFrame_GetLineNumber");
    if (line_trace_slot_init(on_event, why, why_bytes) < 0)
        return -1;
    hook.has_begun = true;
    hook.is_watched = false;
    frame_hook_put_around(NULL); /* finds out what is inside */
    line_hook_review();
    return 0;
}

void line_hook_end(void)
{
    restore_code();
    hook.has_begun = false;
    settle();
}
