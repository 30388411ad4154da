#include "collect/inside/frame_hook.h"

#include <pthread.h>
#include <sys/resource.h>

#include "collect/inside/event_source.h"
#include "collect/inside/tracer.h"

#define STACK_SHARE 8 /* the hook is used on the first eighth of a thread's stack */

static bool is_active;
static bool gave_way;

static __thread char *stack_limit __attribute__((tls_model("initial-exec"))); /* the hook's lowest address */

static char *find_stack_limit(void)
{
    pthread_attr_t attributes;
    void *base = NULL;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        pthread_attr_getstack(&attributes, &base, &size);
        pthread_attr_destroy(&attributes);
    }
    return (char *)base + (size - size / STACK_SHARE);
}

static bool stack_is_short(void)
{
    char here;
    if (!stack_limit)
        stack_limit = find_stack_limit();
    return &here < stack_limit;
}

/* The frames that the hook has entered end by their saved node; later calls come through the profile slot. */
static PyObject *give_way(PyThreadState *state, void *frame, int throwing)
{
    char why[128];
    gave_way = true;
    event_source_update(why, sizeof why);
    return interpreter.evaluate_default(state, frame, throwing);
}

/* Where the thread was before a function began is kept on the C stack: unlike a return event it cannot be
 * mistaken, whatever happened in between. */
static PyObject *evaluate(PyThreadState *state, void *frame, int throwing)
{
    struct lane *lane = is_active ? tracer_lane() : NULL;
    if (!lane)
        return interpreter.evaluate_default(state, frame, throwing);
    if (__builtin_expect(tracer.checks_frames || stack_is_short(), 0))
        return give_way(state, frame, throwing);
    PyObject *code = interpreter_evaluated_code(frame);
    if (__builtin_expect(interpreter_only_makes_generator(frame, code), 0))
        return interpreter.evaluate_default(state, frame, throwing);
    struct tracer_place place = tracer_place(lane);
    if (!tracer_enter_quickly((uint64_t)code))
        tracer_enter(lane, (uint64_t)code, code, CALLEE_PYTHON);
    PyObject *result = interpreter.evaluate_default(state, frame, throwing);
    if (tracer_go_back_quickly(&place))
        return result;
    lane = tracer_lane();
    if (lane)
        tracer_go_back(lane, &place, (uint64_t)code);
    return result;
}

#define TRIAL_CALLS 64 /* enough for the interpreter to specialise the call */

static unsigned trial_count;

static PyObject *count_evaluation(PyThreadState *state, void *frame, int throwing)
{
    trial_count++;
    return interpreter.evaluate_default(state, frame, throwing);
}

/* Early releases of 3.11 call a specialised __getitem__ past the hook. Whether this one does is tried out, in a
 * namespace of its own, before the program runs. */
static bool hook_sees_every_call(void)
{
    static const char program[] = "class C:\n def __getitem__(self, i): return 0\n"
                                  "c = C()\nfor i in range(64): c[i]\n";
    PyObject *space = PyDict_New();
    PyObject *builtins = PyImport_ImportModule("builtins");
    PyObject *code = Py_CompileString(program, "sonde", Py_file_input);
    PyObject *result = NULL;
    if (space && builtins && code && PyDict_SetItemString(space, "__builtins__", builtins) == 0) {
        interpreter.set_evaluate(PyInterpreterState_Get(), count_evaluation);
        result = PyEval_EvalCode(code, space, space);
        interpreter.set_evaluate(PyInterpreterState_Get(), interpreter.evaluate_default);
    }
    Py_XDECREF(result);
    Py_XDECREF(code);
    Py_XDECREF(builtins);
    Py_XDECREF(space);
    PyErr_Clear();
    return result && trial_count >= TRIAL_CALLS;
}

bool frame_hook_is_possible(void)
{
    static bool tried;
    if (!interpreter.set_evaluate || !interpreter.evaluate_default || gave_way)
        return false;
    if (!tried && interpreter.minor == 11 && !is_active)
        gave_way = !hook_sees_every_call();
    tried = true;
    return !gave_way;
}

void frame_hook_set(bool active)
{
    if (active == is_active || !interpreter.set_evaluate)
        return;
    is_active = active;
    interpreter.set_evaluate(PyInterpreterState_Get(), active ? evaluate : interpreter.evaluate_default);
}
