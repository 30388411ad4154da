#include "collect/inside/line_trace_slot.h"

#include <stdio.h>
#include <string.h>

#include "collect/inside/frame_hook.h"
#include "collect/inside/setprofile.h"
#include "collect/inside/thread_slot.h"

#define SEARCHED_BYTES 512 /* of an interpreter's state: what is looked for is near its beginning */
#define FRAME_BYTES    120
#define OFF            0

size_t line_trace_slot_line_offset;

static interpreter_profile_function *own_function;
static int (*set_trace_of)(PyThreadState *, interpreter_profile_function *, PyObject *);
static int (*line_of_frame)(PyFrameObject *);
static unsigned char on_value; /* of the flag */
static size_t possible_offset; /* 3.9: of the count in the interpreter's state */
static __thread interpreter_profile_function *their_function __attribute__((tls_model("initial-exec")));
static __thread bool is_on __attribute__((tls_model("initial-exec"))); /* 3.9 */

/* In the word before the functions: a pointer to where the flag lies (3.10, 3.11), or the flag (3.9). */
static unsigned char *flag_of(PyThreadState *state)
{
    void **before = (void **)thread_slot_of(state) - 1;
    return interpreter.minor >= 10 ? *before : (unsigned char *)before;
}

static int *possible_of(PyThreadState *state)
{
    (void)state;
    return (int *)(void *)((char *)PyInterpreterState_Get() + possible_offset);
}

static interpreter_profile_function *function_in(const struct thread_slot *slot)
{
    interpreter_profile_function *function;
    memcpy(&function, &slot->trace_function, sizeof function);
    return function;
}

static void put_in(struct thread_slot *slot, interpreter_profile_function *function)
{
    memcpy(&slot->trace_function, &function, sizeof function);
}

/* Makes the slot ours, whatever the program has put there meanwhile. */
static void take(PyThreadState *state, struct thread_slot *slot)
{
    interpreter_profile_function *present = function_in(slot);
    if (present == own_function)
        return;
    their_function = present;
    put_in(slot, own_function);
    if (interpreter.minor == 9 && !present)
        ++*possible_of(state);
    is_on = true;
}

/* 3.9: without a function in any thread's slot nothing is looked at. */
static void let_go(PyThreadState *state, struct thread_slot *slot)
{
    if (function_in(slot) != own_function || their_function)
        return;
    put_in(slot, NULL);
    --*possible_of(state);
    is_on = false;
}

/* Whether the slot has, or we have in its place, the program's own function. */
static bool has_theirs(const struct thread_slot *slot)
{
    return their_function || (slot->trace_function && function_in(slot) != own_function);
}

bool line_trace_slot_is_free(PyThreadState *state)
{
    const struct thread_slot *slot = thread_slot_of(state);
    return !slot->function && !has_theirs(slot);
}

unsigned char line_trace_slot_switch(PyThreadState *state, bool on)
{
    struct thread_slot *slot = thread_slot_of(state);
    unsigned char *flag = flag_of(state), before = *flag;
    if (interpreter.minor == 9) {
        before = is_on && function_in(slot) == own_function;
        if (on)
            take(state, slot);
        else
            let_go(state, slot);
        *flag = slot->function || slot->trace_function ? on_value : OFF;
        return before;
    }
    if (on || has_theirs(slot))
        take(state, slot);
    *flag = on || their_function || slot->function ? on_value : OFF;
    return before;
}

/* What was evaluated meanwhile may have set a function, as a debugger's set_trace() does: then it stays on. */
void line_trace_slot_switch_back(PyThreadState *state, unsigned char before)
{
    if (interpreter.minor == 9 || their_function)
        line_trace_slot_switch(state, before);
    else
        *flag_of(state) = line_trace_slot_is_free(state) ? before : on_value;
}

bool line_trace_slot_pause(PyThreadState *state)
{
    unsigned char *flag = flag_of(state);
    bool was_on = *flag != OFF;
    *flag = OFF;
    return was_on;
}

int line_trace_slot_pass_on(PyObject *object, PyFrameObject *frame, int what, PyObject *argument)
{
    return object && their_function ? their_function(object, frame, what, argument) : 0;
}

/* ---- trying it out ---- */

static unsigned trial_lines;
static uint64_t trial_offsets; /* of four bytes each, that have always held the line */

static int on_trial(PyObject *object, PyFrameObject *frame, int what, PyObject *argument)
{
    (void)object, (void)argument;
    if (what != EVENT_LINE)
        return 0;
    int line = line_of_frame(frame);
    for (size_t i = 0; i < FRAME_BYTES / sizeof(int); i++)
        if (((int *)frame)[i] != line)
            trial_offsets &= ~(UINT64_C(1) << i);
    trial_lines++;
    return 0;
}

static unsigned count_lines(bool on)
{
    PyThreadState *state = PyThreadState_Get();
    trial_lines = 0;
    unsigned char before = line_trace_slot_switch(state, on);
    bool done = frame_hook_run_aside("\n\n\na = 1\nb = 2\n\n\n\n\n\n\n\nc = 3\n");
    line_trace_slot_switch_back(state, before);
    return done ? trial_lines : 0;
}

/* 3.9: the one word of the interpreter's state that setting a trace function raises by one. */
static void find_possible(const int *before, const int *after)
{
    for (size_t i = 0; i < SEARCHED_BYTES / sizeof(int) && !possible_offset; i++)
        if (after[i] == before[i] + 1)
            possible_offset = i * sizeof(int);
}

/* What is in the slots of the thread, while it is tried out. */
struct set_aside {
    struct {
        struct thread_slot slot;
        PyObject *trace_object; /* lies behind it */
    } content;
    bool was_known;
};

/* Where the place is not known, it can be found only by using it: so what was there is taken from a copy. Where it is,
 * our own tracer may be in it, who would come back if the interpreter told of the change. */
static bool set_aside(PyThreadState *state, struct set_aside *aside)
{
    char before[THREAD_SLOT_WORDS * sizeof(void *) + sizeof aside->content];
    memcpy(before, state, sizeof before);
    aside->was_known = thread_slot_of(state);
    if (!aside->was_known) {
        interpreter.set_profile_of(state, on_trial, NULL);
        thread_slot_find_function(state, on_trial);
        interpreter.set_profile_of(state, NULL, NULL);
    }
    struct thread_slot *slot = thread_slot_of(state);
    if (!slot)
        return false;
    memcpy(&aside->content, before + ((char *)slot - (char *)state), sizeof aside->content);
    slot->function = NULL;
    set_trace_of(state, NULL, NULL);
    return true;
}

static void put_back(PyThreadState *state, const struct set_aside *aside)
{
    const struct thread_slot *slot = &aside->content.slot;
    if (slot->function && aside->was_known) {
        thread_slot_of(state)->function = slot->function;
        *flag_of(state) = on_value;
    } else if (slot->function) {
        interpreter.set_profile_of(state, slot->function, slot->object);
    }
    if (slot->trace_function)
        set_trace_of(state, function_in(slot), aside->content.trace_object);
}

static bool find_places(PyThreadState *state)
{
    int before[SEARCHED_BYTES / sizeof(int)];
    struct thread_slot *slot = thread_slot_of(state);
    memcpy(before, PyInterpreterState_Get(), sizeof before);
    set_trace_of(state, on_trial, NULL);
    on_value = *flag_of(state);
    if (interpreter.minor == 9)
        find_possible(before, (const int *)(const void *)PyInterpreterState_Get());
    bool found = function_in(slot) == on_trial && on_value && (interpreter.minor > 9 || possible_offset);
    set_trace_of(state, NULL, NULL);
    return found && (*flag_of(state) == OFF || slot->function);
}

/* Keeps alive what the slots refer to. */
static PyObject *object_of(const char *name)
{
    PyObject *get = PySys_GetObject(name);
    PyObject *object = get ? PyObject_CallObject(get, NULL) : NULL;
    PyErr_Clear();
    return object;
}

int line_trace_slot_init(interpreter_profile_function *function, char *why, size_t why_bytes)
{
    PyThreadState *state = PyThreadState_Get();
    if (line_trace_slot_line_offset)
        return 0;
    *(void **)&set_trace_of = interpreter_find("_PyEval_SetTrace");
    *(void **)&line_of_frame = interpreter_find("PyFrame_GetLineNumber");
    own_function = on_trial;
    trial_offsets = (UINT64_C(1) << FRAME_BYTES / sizeof(int)) - 1;
    PyObject *profile = object_of("getprofile"), *trace = object_of("gettrace");
    struct set_aside aside = {0};
    bool works = set_trace_of && line_of_frame && set_aside(state, &aside) && find_places(state) &&
                 count_lines(true) == 3 && count_lines(false) == 0 && trial_offsets;
    if (works && interpreter.minor > 9) /* in 3.9 it has been let go of */
        put_in(thread_slot_of(state), NULL);
    put_back(state, &aside);
    Py_XDECREF(profile);
    Py_XDECREF(trace);
    if (!works) {
        snprintf(why, why_bytes, "this CPython keeps its trace functions in a form that sonde does not know");
        return -1;
    }
    line_trace_slot_line_offset = (size_t)__builtin_ctzll(trial_offsets) * sizeof(int);
    own_function = function;
    return 0;
}
