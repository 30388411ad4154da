#include "collect/inside/frame_hook.h"

#include <pthread.h>
#include <sys/resource.h>

#include "collect/inside/event_source.h"
#include "collect/inside/tracer.h"

#define STACK_SHARE 8 /* the hook is used on the first eighth of a thread's stack */

static bool is_active;
static bool gave_way;
static interpreter_evaluate *outer;     /* of the lines; NULL = none */
static interpreter_evaluate *outermost; /* of the marks; NULL = none */
interpreter_evaluate *frame_hook_inner, *frame_hook_within;

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

bool frame_hook_stack_is_short(void)
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
    if (__builtin_expect(tracer.checks_frames || frame_hook_stack_is_short(), 0))
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

bool frame_hook_run_aside(const char *program)
{
    PyObject *space = PyDict_New();
    PyObject *builtins = PyImport_ImportModule("builtins");
    PyObject *code = Py_CompileString(program, "sonde", Py_file_input);
    PyObject *result = NULL;
    if (space && builtins && code && PyDict_SetItemString(space, "__builtins__", builtins) == 0)
        result = PyEval_EvalCode(code, space, space);
    Py_XDECREF(result);
    Py_XDECREF(code);
    Py_XDECREF(builtins);
    Py_XDECREF(space);
    PyErr_Clear();
    return result != NULL;
}

#define TRIAL_CALLS 64 /* enough for the interpreter to specialise the call */

static unsigned trial_count;

static PyObject *count_evaluation(PyThreadState *state, void *frame, int throwing)
{
    trial_count++;
    return interpreter.evaluate_default(state, frame, throwing);
}

/* Early releases of 3.11 call a specialised __getitem__ past the hook. Whether this one does is tried out before the
 * program runs. */
static bool hook_sees_every_call(void)
{
    trial_count = 0;
    interpreter.set_evaluate(PyInterpreterState_Get(), count_evaluation);
    bool done = frame_hook_run_aside("class C:\n def __getitem__(self, i): return 0\n"
                                     "c = C()\nfor i in range(64): c[i]\n");
    interpreter.set_evaluate(PyInterpreterState_Get(), interpreter.evaluate_default);
    return done && trial_count >= TRIAL_CALLS;
}

/* A __getitem__ is specialised only when the function's version fits 16 bits. Versions are given out one after the
 * other, to functions whose call is specialised: 64 of them in each copy of a function that has just been warmed up
 * by a loop. Once all small ones are gone, a __getitem__ that has one gets a new one by being given its own code. */
static void prevent_inlining(void)
{
    static const char program[] =
        "space = {}\n"
        "exec('def use_up():\\n for _ in range(16): pass\\n' + ' (lambda: 0)()\\n' * 64, space)\n"
        "use_up = space['use_up']\n"
        "for line in range(1, 1025):\n"
        " use_up.__code__ = use_up.__code__.replace(co_firstlineno=line)\n"
        " use_up()\n"
        "seen, waiting = {object}, [object]\n"
        "while waiting:\n"
        " for one in type.__subclasses__(waiting.pop()):\n"
        "  if one in seen: continue\n"
        "  seen.add(one); waiting.append(one)\n"
        "  function = type.__dict__['__dict__'].__get__(one).get('__getitem__')\n"
        "  if type(function) is type(use_up): function.__code__ = function.__code__\n";
    frame_hook_run_aside(program);
}

bool frame_hook_is_possible(void)
{
    static bool tried;
    if (!interpreter.set_evaluate || !interpreter.evaluate_default || gave_way)
        return false;
    if (!tried && interpreter.minor == 11 && !is_active && !hook_sees_every_call()) {
        prevent_inlining();
        gave_way = !hook_sees_every_call();
    }
    tried = true;
    return !gave_way;
}

static void install(void)
{
    frame_hook_inner = is_active ? evaluate : interpreter.evaluate_default;
    frame_hook_within = outer ? outer : frame_hook_inner;
    interpreter.set_evaluate(PyInterpreterState_Get(), outermost ? outermost : frame_hook_within);
}

void frame_hook_set(bool active)
{
    if (active == is_active || !interpreter.set_evaluate)
        return;
    is_active = active;
    install();
}

bool frame_hook_is_there(void)
{
    return is_active || outer || outermost;
}

void frame_hook_pause(void)
{
    interpreter.set_evaluate(PyInterpreterState_Get(), interpreter.evaluate_default);
}

void frame_hook_put_around(interpreter_evaluate *function)
{
    outer = function;
    install();
}

void frame_hook_put_outermost(interpreter_evaluate *function)
{
    outermost = function;
    install();
}
