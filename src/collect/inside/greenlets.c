#include "collect/inside/greenlets.h"

#include <string.h>

#include "store/recording.h"

#define FRAMES_MAX 4096

void greenlets_notice(const char *file)
{
    static const char package[] = "/greenlet/__init__.py";
    size_t size = strlen(file);
    if (tracer.checks_frames || size < sizeof package ||
        strcmp(file + size - (sizeof package - 1), package) != 0)
        return;
    tracer.checks_frames = true;
    tracer_look_again();
}

/* Code objects of the running frames, innermost first, borrowed from the frames. Deeper ones are left out. */
static uint32_t running_codes(PyObject **codes, bool without_top)
{
    uint32_t count = 0;
    PyFrameObject *frame = PyEval_GetFrame();
    Py_XINCREF(frame);
    while (frame && count < FRAMES_MAX) {
        PyObject *code = (PyObject *)interpreter.frame_code(frame);
        if (!without_top)
            codes[count++] = code;
        without_top = false;
        Py_DECREF(code);
        PyFrameObject *back = interpreter.frame_back(frame);
        Py_DECREF(frame);
        frame = back;
    }
    Py_XDECREF(frame);
    return count;
}

static bool agrees(struct context *context, PyObject *const *codes, uint32_t count)
{
    struct arena_node *nodes = context->nodes;
    const struct arena_code *rows = arena_codes(context->trace->arena);
    uint32_t matched = 0;
    for (uint32_t at = context->row->current; at != context->row->root; at = nodes[at].parent) {
        if (rows[nodes[at].code].kind == CODE_C)
            continue;
        if (matched == count || nodes[at].key != (uint64_t)codes[matched])
            return false;
        matched++;
    }
    /* Frames below the thread's root began before the trace; a launched program has none. */
    return matched == count || !context->trace->shared;
}

void greenlets_resynchronise(struct context *context, bool without_top, uint64_t now)
{
    struct arena_thread *row = context->row;
    if (row->current == trace_sink(row))
        return;
    PyObject *codes[FRAMES_MAX];
    uint32_t count = running_codes(codes, without_top);
    if (agrees(context, codes, count))
        return;
    uint32_t node = row->root;
    while (count-- > 0) {
        uint32_t child =
            trace_child(context->trace, node, (uint64_t)codes[count], codes[count], CALLEE_PYTHON);
        if (child != TRACE_LEFT_OUT && child != TRACE_FULL)
            node = child;
    }
    row->current = node;
    if (context->log)
        call_log_carry(context->log, row, node, now);
    context->trace->arena->resyncs++;
}
