#include "collect/inside/line_entry.h"

#include <string.h>

#include "collect/inside/line_hook.h"
#include "collect/inside/line_probes.h"
#include "python/layouts.h"

enum {
    PUSH_NULL = 2,
    UNARY_POSITIVE = 10,
    RETURN_VALUE = 83,
    LOAD_CONSTANT = 100,
    EXTENDED_ARGUMENT = 144,
    RESUME = 151,
    CALL = 171,
};

#define UNIT_BYTES  2
#define ALIGNMENT   16 /* of memory that objects are given */
#define OF_ONE_BYTE 256

/* Of 3.11. */
enum {
    CODE_CONSTANTS = 24,
    CODE_WARMUP = 52,      /* short: how often it is yet to run before it is made faster; 0 = it is */
    THREAD_RECURSION = 32, /* int: how many calls may be made yet; the limit follows */
};

/* The operator is used on it at the beginning of a call. */
struct announcer {
    PyObject ob_base;
};

static const struct layout *layout; /* NULL = not possible */
static PyTypeObject *announcer_type;
static PyObject *announcer,
    *changer; /* the latter a function that has the frame of its caller changed over */
static int16_t warmup_of_new_code;

static char *field(void *object, uint32_t offset)
{
    return (char *)object + offset;
}

static int *recursion_of(PyThreadState *state)
{
    return (int *)(void *)field(state, THREAD_RECURSION);
}

static uint8_t *instructions_of(PyObject *code)
{
    return (uint8_t *)field(code, layout->code_instructions);
}

static int16_t *warmup_of(PyObject *code)
{
    return (int16_t *)(void *)field(code, CODE_WARMUP);
}

static int *first_traceable_of(PyObject *code)
{
    return (int *)(void *)field(code, layout->code_first_traceable);
}

static char *innermost_frame(PyThreadState *state)
{
    char *cframe = *(char **)(void *)field(state, layout->thread_frame);
    return *(char **)(void *)(cframe + layout->cframe_frame);
}

static char *previous_frame(char *frame)
{
    return *(char **)(void *)(frame + layout->frame_previous);
}

/* ---- a call ---- */

/* The interpreter must make the call that follows without a C call, and nobody be told of it; and it must not be the one
 * that is too deep. Nothing can come in between: no instruction up to the beginning of the copy looks for signals. */
static PyObject *on_announcement(PyObject *self)
{
    (void)self;
    PyThreadState *state = PyThreadState_Get();
    ++*recursion_of(state);
    line_hook_pause(state);
    Py_INCREF(changer);
    return changer;
}

static PyObject *change_caller(PyObject *self)
{
    PyThreadState *state = PyThreadState_Get();
    char *frame = previous_frame(innermost_frame(state));
    PyObject *code = interpreter_evaluated_code(frame);
    --*recursion_of(state);
    line_probes_arrive(frame, line_codes_find(code));
    Py_DECREF(code);
    Py_INCREF(self);
    return self;
}

/* ---- beginning ---- */

static PyTypeObject *make_type(const char *name, unaryfunc positive)
{
    PyType_Slot slots[] = {
        {Py_nb_positive, positive},
        {Py_tp_doc, "Stands at the beginning of code whose lines are timed."},
        {0, NULL},
    };
    PyType_Spec spec = {
        .name = name, .basicsize = sizeof(struct announcer), .flags = Py_TPFLAGS_DEFAULT, .slots = slots};
    return (PyTypeObject *)PyType_FromSpec(&spec);
}

/* Code without RESUME never looks for signals, and its frames are never shown. */
static PyObject *make_changer(PyObject *model, PyObject *object)
{
    static const char bytes[] = {LOAD_CONSTANT, 0, UNARY_POSITIVE, 0, RETURN_VALUE, 0};
    PyObject *method = PyObject_GetAttrString(model, "replace"), *none = PyTuple_New(0);
    PyObject *changes =
        Py_BuildValue("{s:y#,s:(O)}", "co_code", bytes, (Py_ssize_t)sizeof bytes, "co_consts", object);
    PyObject *code = method && none && changes ? PyObject_Call(method, none, changes) : NULL;
    PyObject *space = code ? PyDict_New() : NULL;
    PyObject *function =
        space ? PyObject_CallFunction((PyObject *)interpreter.function_type, "OO", code, space) : NULL;
    Py_XDECREF(space);
    Py_XDECREF(code);
    Py_XDECREF(changes);
    Py_XDECREF(none);
    Py_XDECREF(method);
    return function;
}

static PyObject *make_model(void)
{
    PyObject *module = Py_CompileString("def f(): pass\n", "sonde", Py_file_input);
    PyObject *constants = module ? PyObject_GetAttrString(module, "co_consts") : NULL;
    PyObject *model = constants ? PySequence_GetItem(constants, 0) : NULL;
    Py_XDECREF(constants);
    Py_XDECREF(module);
    if (model && Py_TYPE(model) == interpreter.code_type)
        return model;
    Py_XDECREF(model);
    return NULL;
}

/* What is not in the table of layouts is held against what the interpreter answers. */
static bool is_as_expected(PyObject *model)
{
    PyObject *constants = PyObject_GetAttrString(model, "co_consts");
    bool same = constants && *(PyObject **)(void *)field(model, CODE_CONSTANTS) == constants;
    Py_XDECREF(constants);
    const int *recursion = recursion_of(PyThreadState_Get());
    warmup_of_new_code = *warmup_of(model);
    return same && recursion[1] == Py_GetRecursionLimit() && recursion[0] <= recursion[1] &&
           recursion[0] > 0 && warmup_of_new_code < 0 && instructions_of(model)[0] == RESUME;
}

static bool make_all(void)
{
    PyObject *model = make_model();
    PyTypeObject *changer_type = make_type("sonde.changer", change_caller);
    PyObject *object = changer_type ? PyType_GenericAlloc(changer_type, 0) : NULL;
    announcer_type = make_type("sonde.announcer", on_announcement);
    announcer = announcer_type ? PyType_GenericAlloc(announcer_type, 0) : NULL;
    if (model && object && announcer && is_as_expected(model))
        changer = make_changer(model, object);
    Py_XDECREF(object);
    Py_XDECREF((PyObject *)changer_type);
    Py_XDECREF(model);
    return changer;
}

/* Debug builds look whether a constant lies within its tuple. */
bool line_entry_is_possible(void)
{
    static bool tried;
    if (tried)
        return layout;
    tried = true;
    if (interpreter.minor != 11 || interpreter_find("_Py_RefTotal") || !interpreter.set_evaluate)
        return false;
    layout = line_probes_layout();
    if (layout && !make_all())
        layout = NULL;
    PyErr_Clear();
    return layout;
}

/* ---- code ---- */

/* Whether a frame of the code will run there again. */
static bool is_about_to_run(char *frame, const struct line_code *function)
{
    PyObject *code = (PyObject *)function->code;
    if (interpreter_evaluated_code(frame) != code)
        return false;
    const char *at = *(char **)(void *)(frame + layout->frame_instruction);
    const uint8_t *entry = instructions_of(code) + function->entry_at;
    return function->comes_back || (const uint8_t *)at < entry + LINE_CODES_ENTRY_BYTES;
}

static bool is_about_to_run_in(PyThreadState *state, const struct line_code *function)
{
    for (char *frame = innermost_frame(state); frame; frame = previous_frame(frame))
        if (is_about_to_run(frame, function))
            return true;
    return false;
}

/* Whether a frame stands where the code would be overwritten, or may come back there. Generators that pause are not to be
 * found. */
static bool is_in_use(const struct line_code *function)
{
    if (*warmup_of((PyObject *)function->code) == warmup_of_new_code)
        return false;
    if (function->is_generator && function->comes_back)
        return true;
    PyThreadState *state = interpreter.first_thread(PyInterpreterState_Get());
    while (state && !is_about_to_run_in(state, function))
        state = interpreter.next_thread(state);
    return state;
}

/* The constants that the program sees, and one more behind their end. Those of before may still be in use by a frame,
 * and stay. */
static bool add_constant(struct line_code *function, PyObject *code)
{
    PyObject **place = (PyObject **)(void *)field(code, CODE_CONSTANTS), *constants = *place;
    if (function->constants_before)
        return true;
    Py_ssize_t count = PyTuple_Size(constants);
    PyObject *more = count > 0 ? PyTuple_New(count + 1) : NULL;
    if (!more)
        return false;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *constant = PyTuple_GetItem(constants, i);
        Py_INCREF(constant);
        PyTuple_SetItem(more, i, constant);
    }
    Py_INCREF(announcer);
    PyTuple_SetItem(more, count, announcer);
    PyObject_GC_UnTrack(more);
    *(Py_ssize_t *)(void *)field(more, layout->object_size) = count;
    function->constants_before = constants;
    *place = more;
    return true;
}

/* How many bytes the instructions take, to be written at `to`; 0 = too many. */
static uint32_t write_announcement(uint8_t to[LINE_CODES_ENTRY_BYTES], Py_ssize_t constant)
{
    const uint8_t bytes[] = {
        PUSH_NULL,
        0, /* the two of an argument that is longer come first */
        EXTENDED_ARGUMENT,
        (uint8_t)(constant >> 8), /**/
        LOAD_CONSTANT,
        (uint8_t)(constant % OF_ONE_BYTE),
        UNARY_POSITIVE,
        0,
        CALL,
        0,
    };
    if (constant >= OF_ONE_BYTE * OF_ONE_BYTE)
        return 0;
    if (constant >= OF_ONE_BYTE) {
        memcpy(to, bytes, sizeof bytes);
        return sizeof bytes;
    }
    memcpy(to, bytes, UNIT_BYTES);
    memcpy(to + UNIT_BYTES, bytes + 2 * UNIT_BYTES, sizeof bytes - 2 * UNIT_BYTES);
    return sizeof bytes - UNIT_BYTES;
}

/* The smallest function has one unit less than is needed, and memory for it: objects are not packed closer than this. */
static bool has_room(PyObject *code, uint32_t end)
{
    size_t bytes = layout->code_instructions +
                   (size_t) * (Py_ssize_t *)(void *)field(code, layout->object_size) * UNIT_BYTES;
    return layout->code_instructions + end <= (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Makes the interpreter keep the bytes that the program may ask for. */
static bool keep_bytes(PyObject *code)
{
    PyObject *bytes = PyObject_GetAttrString(code, "co_code");
    Py_XDECREF(bytes);
    PyErr_Clear();
    return bytes;
}

static void overwrite(struct line_code *function, PyObject *code, const uint8_t *bytes, uint32_t size)
{
    uint32_t at = function->entry_at;
    int *traceable = first_traceable_of(code), end = (int)((at + size) / UNIT_BYTES);
    function->entry_size = size;
    function->warmup_before = *warmup_of(code);
    function->traceable_before = *traceable;
    memcpy(function->entry_before, instructions_of(code) + at, size);
    memcpy(instructions_of(code) + at, bytes, size);
    *warmup_of(code) = 0; /* else it would be made faster, by rules that are not those of these bytes */
    *traceable = *traceable > end ? *traceable : end;
}

bool line_entry_put_in(struct line_code *function)
{
    PyObject *code = (PyObject *)function->code;
    uint8_t bytes[LINE_CODES_ENTRY_BYTES];
    if (!layout || function->is_silent)
        return false;
    if (!line_probes_have_copy(function) || !keep_bytes(code)) {
        function->is_silent = true;
        return false;
    }
    if (is_in_use(function))
        return false;
    function->is_silent = true;
    uint32_t size =
        write_announcement(bytes, PyTuple_Size(*(PyObject **)(void *)field(code, CODE_CONSTANTS)));
    if (!size || !has_room(code, function->entry_at + size) || !add_constant(function, code))
        return false;
    function->is_silent = false;
    overwrite(function, code, bytes, size);
    return true;
}

void line_entry_take_out(struct line_code *function)
{
    PyObject *code = (PyObject *)function->code;
    if (!function->entry_size || !code)
        return;
    memcpy(instructions_of(code) + function->entry_at, function->entry_before, function->entry_size);
    *warmup_of(code) = function->warmup_before;
    *first_traceable_of(code) = function->traceable_before;
    function->entry_size = 0;
}
