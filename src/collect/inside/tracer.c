#include "collect/inside/tracer.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/agent/agent.h"
#include "collect/agent/own_memory.h"
#include "collect/inside/code_table.h"
#include "collect/inside/event_source.h"
#include "collect/inside/finder.h"
#include "collect/inside/greenlets.h"
#include "collect/inside/throttle.h"
#include "store/recording.h"

struct tracer tracer;
struct lane tracer_no_lane;
__thread struct lane *tracer_own_lane __attribute__((tls_model("initial-exec"))) = &tracer_no_lane;

static pthread_key_t lane_key;

/* Runs when a thread ends, without the interpreter lock: only the thread's own lane is touched, and of arenas only
 * the launched program's, which is mapped and in its slot for good (other traces come and go, under the lock). In a
 * forked child that has not moved to an arena of its own it is still the parent's, where no thread has ended. */
static void retire(void *data)
{
    struct lane *lane = data;
    uint64_t now = tracer_now();
    tracer_own_lane = &tracer_no_lane;
    struct arena_thread *row = tracer.forked ? NULL : __atomic_load_n(&lane->lasting_row, __ATOMIC_ACQUIRE);
    if (row)
        row->end_ticks = now;
    __atomic_store_n(&lane->retired, true, __ATOMIC_RELEASE);
}

static void init_once(void)
{
    static bool done;
    if (done)
        return;
    done = true;
    tracer.counter = clock_has_counter();
    pthread_key_create(&lane_key, retire);
}

static struct lane *new_lane(void)
{
    for (struct lane *lane = tracer.lanes; lane; lane = lane->next_lane) {
        if (!__atomic_load_n(&lane->retired, __ATOMIC_ACQUIRE))
            continue;
        struct lane *next = lane->next_lane;
        *lane = (struct lane){.next_lane = next};
        return lane;
    }
    struct lane *lane = own_memory_map(sizeof *lane);
    if (!lane)
        return NULL;
    lane->next_lane = tracer.lanes;
    tracer.lanes = lane;
    return lane;
}

/* The name of the threading.Thread whose _bootstrap is starting, or "MainThread"; as bytes, or NULL. */
static PyObject *name_of_thread(void)
{
    PyObject *locals = PyEval_GetLocals();
    PyObject *self = locals && PyDict_Check(locals) ? PyDict_GetItemString(locals, "self") : NULL;
    PyObject *name = self ? PyObject_GetAttrString(self, "_name") : NULL;
    PyErr_Clear();
    PyObject *bytes = name && PyUnicode_Check(name) ? interpreter_utf8(name) : NULL;
    Py_XDECREF(name);
    return bytes;
}

static void set_name(struct trace *trace, struct arena_thread *row)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    const char *text = "MainThread";
    PyObject *name = NULL;
    if (!tracer_in_main_thread()) {
        PyFrameObject *frame = PyEval_GetFrame();
        PyObject *code = frame ? (PyObject *)interpreter.frame_code(frame) : NULL;
        PyObject *function = code ? PyObject_GetAttrString(code, "co_name") : NULL;
        bool starting = function && PyUnicode_CompareWithASCIIString(function, "_bootstrap") == 0;
        name = starting ? name_of_thread() : NULL;
        text = name ? PyBytes_AsString(name) : "";
        Py_XDECREF(function);
        Py_XDECREF(code);
    }
    row->name = code_table_text(trace, text, strlen(text));
    Py_XDECREF(name);
    PyErr_Restore(type, value, traceback);
}

static uint64_t read_timer(struct trace *trace)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *result = PyObject_CallObject(trace->timer, NULL);
    double reading = 0;
    if (result && trace->timer_unit > 0)
        reading = (double)PyLong_AsLongLong(result);
    else if (result)
        reading = PyFloat_AsDouble(result) * 1e9;
    Py_XDECREF(result);
    if (PyErr_Occurred())
        PyErr_WriteUnraisable(trace->timer);
    PyErr_Restore(type, value, traceback);
    return reading > 0 ? (uint64_t)(reading + 0.5) : 0;
}

/* The thread's recording rests while its timer runs: what the timer calls is not the program's. Should a trace
 * begin or end meanwhile, the old generation makes the lane look again. */
static uint64_t timer_now(struct trace *trace, uint64_t now)
{
    struct lane *lane = tracer_own_lane;
    if (!trace->timer)
        return now;
    if (lane == &tracer_no_lane)
        return read_timer(trace);
    struct context *first = lane->first;
    uint32_t generation = lane->generation;
    lane->first = NULL;
    lane->generation = tracer.generation;
    now = read_timer(trace);
    lane->first = first;
    lane->generation = generation;
    return now;
}

static void join(struct lane *lane, struct context *context, struct trace *trace)
{
    uint32_t thread = trace_add_thread(trace, timer_now(trace, tracer_now()));
    context->trace = trace;
    context->nodes = arena_nodes(trace->arena);
    context->row = thread ? &arena_threads(trace->arena)[thread] : NULL;
    context->log = trace->log.shared ? &trace->log : NULL;
    if (trace->shared)
        lane->lasting_row = context->row;
    if (context->row)
        set_name(trace, context->row);
}

static void move_to_own_arena(struct trace *trace, struct context *context)
{
    const struct agent *agent = tracer.agent;
    struct arena *arena =
        agent->session->follow ? agent->open_arena(interpreter.version, SESSION_HELLO) : NULL;
    const struct arena_limits small = arena_limits_within(1 << 22);
    if (!arena) /* nobody will read it, but the program must go on */
        arena = trace_new_private_arena(&small);
    if (!arena) {
        trace->enabled = false;
        trace->is_lost = true;
        return;
    }
    uint32_t thread = trace_move_after_fork(trace, arena, tracer_now());
    if (context) {
        context->nodes = arena_nodes(arena);
        context->row = thread ? &arena_threads(arena)[thread] : NULL;
        context->log = trace->log.shared ? &trace->log : NULL;
        tracer_own_lane->lasting_row = context->row;
    }
    if (context && context->row)
        set_name(trace, context->row);
}

static void leave_parent_behind(void)
{
    struct lane *own = tracer_own_lane;
    tracer.forked = false;
    own->lasting_row = NULL;
    for (struct lane *lane = tracer.lanes; lane; lane = lane->next_lane)
        if (lane != own)
            lane->retired = true;
    for (int slot = 0; slot < TRACER_TRACES; slot++) {
        struct trace *trace = tracer.traces[slot];
        if (trace && trace->shared)
            move_to_own_arena(trace, own->contexts[slot].row ? &own->contexts[slot] : NULL);
    }
}

static void find_quick_way(struct lane *lane)
{
    struct context *only = lane->first;
    bool quick = only && !only->next && !only->special && !only->trace->may_leave_out && tracer.counter;
    lane->quick_nodes = quick ? only->nodes : NULL;
    lane->quick_row = quick ? only->row : NULL;
    lane->quick_log = quick ? only->log : NULL;
}

void tracer_look_again(void)
{
    tracer.generation++;
    for (struct lane *lane = tracer.lanes; lane; lane = lane->next_lane)
        lane->quick_row = NULL;
}

struct lane *tracer_refresh_lane(void)
{
    if (tracer.forked)
        leave_parent_behind();
    struct lane *lane = tracer_own_lane;
    if (lane == &tracer_no_lane) {
        lane = new_lane();
        if (!lane)
            return NULL;
        tracer_own_lane = lane;
        pthread_setspecific(lane_key, lane);
    }
    struct context **link = &lane->first;
    for (int slot = 0; slot < TRACER_TRACES; slot++) {
        struct trace *trace = tracer.traces[slot];
        struct context *context = &lane->contexts[slot];
        if (!trace || !trace->enabled)
            continue;
        if (context->trace != trace)
            join(lane, context, trace);
        if (!context->row)
            continue;
        context->special = trace->throttle || trace->timer || tracer.checks_frames;
        *link = context;
        link = &context->next;
    }
    *link = NULL;
    lane->generation = tracer.generation;
    find_quick_way(lane);
    return lane->first ? lane : NULL;
}

static void charge(struct context *context, uint64_t now)
{
    struct arena_thread *row = context->row;
    if (now > row->last_ticks) /* a timer of the user's may go back */
        context->nodes[row->current].self_ticks += now - row->last_ticks;
    row->last_ticks = now;
}

/* Where the thread is, for the log; what a sink takes cannot be told apart. */
static void log_step(struct context *context, bool begins, uint64_t now)
{
    struct arena_thread *row = context->row;
    bool in_sink = row->current == trace_sink(row);
    uint32_t node = in_sink ? context->nodes[row->current].parent : row->current;
    if (context->log)
        call_log_put(context->log, row, (struct call_log_step){node, begins, now});
}

/* A key that was not remembered is told by where its function begins. */
static bool is_in(const struct context *context, uint64_t key, uint32_t first_line)
{
    const struct arena_node *node = &context->nodes[context->row->current];
    return node->key == key ||
           ((node->key & 1) && arena_codes(context->trace->arena)[node->code].line == first_line);
}

void tracer_log_line(uint64_t key, uint32_t first_line, uint32_t line, uint64_t now)
{
    struct lane *lane = tracer_lane();
    for (struct context *context = lane ? lane->first : NULL; context; context = context->next)
        if (context->log && is_in(context, key, first_line))
            call_log_put_line(context->log, context->row, line, now);
}

/* Goes to the thread's sink: what is called from here on cannot be told apart until it returns. */
static void enter_sink(struct context *context)
{
    struct arena_thread *row = context->row;
    context->nodes[trace_sink(row)].parent = row->current;
    row->current = trace_sink(row);
    row->skipped = 0;
}

static void leave_sink(struct context *context)
{
    struct arena_thread *row = context->row;
    struct arena_node *sink = &context->nodes[trace_sink(row)];
    if (row->skipped > 0) {
        row->skipped--;
        return;
    }
    context->nodes[sink->parent].self_ticks += sink->self_ticks;
    sink->self_ticks = 0;
    row->current = sink->parent;
}

static enum tracer_wish enter_one(struct context *context, uint64_t key, PyObject *callee,
                                  enum callee_kind kind, uint64_t now)
{
    struct trace *trace = context->trace;
    struct arena_thread *row = context->row;
    if (kind == CALLEE_C && !trace->c_calls)
        return TRACER_GO_ON;
    if (trace->arena->stop) { /* the recorder has gone: nobody reads what would be written */
        trace->enabled = false;
        tracer_look_again();
        return TRACER_GO_ON;
    }
    charge(context, timer_now(trace, now));
    if (tracer.checks_frames)
        greenlets_resynchronise(context, kind == CALLEE_PYTHON, now);
    bool in_sink = row->current == trace_sink(row);
    uint32_t parent = in_sink ? context->nodes[row->current].parent : row->current;
    uint32_t child = trace_child(trace, parent, key, callee, kind);
    if (key == finder_watched_key)
        finder_look();
    if (child == TRACE_LEFT_OUT)
        return kind == CALLEE_PYTHON && key != finder_watched_key ? TRACER_NOT_AGAIN : TRACER_GO_ON;
    if (in_sink) {
        row->skipped++;
    } else if (child == TRACE_FULL) {
        enter_sink(context);
    } else {
        context->nodes[child].calls++;
        row->current = child;
        log_step(context, true, now);
        if (trace->throttle)
            throttle_count(trace, child);
    }
    return TRACER_GO_ON;
}

/* A return that does not belong to the current node: pops what lies above the function, if it is on the stack
 * at all; a function that began before the trace did is on none, and its return means nothing here. */
static void leave_out_of_turn(struct context *context, uint64_t key)
{
    struct arena_thread *row = context->row;
    struct arena_node *nodes = context->nodes;
    uint32_t code = trace_code_row(context->trace, key);
    if (!code &&
        (nodes[row->current].key & 1)) { /* a function whose key was not remembered: this is its return */
        row->current = nodes[row->current].parent;
        return;
    }
    for (uint32_t at = row->current; at != row->root; at = nodes[at].parent) {
        if (nodes[at].key != key && (!code || nodes[at].code != code))
            continue;
        if (at != row->current)
            context->trace->arena->resyncs++;
        row->current = nodes[at].parent;
        return;
    }
}

static enum tracer_wish leave_one(struct context *context, uint64_t key, uint64_t now)
{
    struct trace *trace = context->trace;
    struct arena_thread *row = context->row;
    charge(context, timer_now(trace, now));
    if (trace->may_leave_out) {
        uint32_t code = trace_code_row(trace, key);
        uint8_t state = code ? arena_codes(trace->arena)[code].state : 0;
        if (state & (ARENA_CODE_EXCLUDED | ARENA_CODE_THROTTLED))
            return TRACER_NOT_AGAIN;
    }
    if (row->current == trace_sink(row))
        leave_sink(context);
    else
        leave_out_of_turn(context, key);
    log_step(context, false, now);
    if (tracer.checks_frames)
        greenlets_resynchronise(context, trace_callee_is_python(trace, key), now);
    return TRACER_GO_ON;
}

/* A wish is granted only when all traces have it. */
enum tracer_wish tracer_enter(struct lane *lane, uint64_t key, PyObject *callee, enum callee_kind kind)
{
    uint64_t now = tracer_now();
    enum tracer_wish wish = TRACER_NOT_AGAIN;
    for (struct context *context = lane->first; context; context = context->next)
        if (enter_one(context, key, callee, kind, now) == TRACER_GO_ON)
            wish = TRACER_GO_ON;
    return wish;
}

enum tracer_wish tracer_leave(struct lane *lane, uint64_t key)
{
    uint64_t now = tracer_now();
    enum tracer_wish wish = TRACER_NOT_AGAIN;
    for (struct context *context = lane->first; context; context = context->next)
        if (leave_one(context, key, now) == TRACER_GO_ON)
            wish = TRACER_GO_ON;
    return wish;
}

static void go_back_in(struct context *context, const struct tracer_place *place, uint64_t now)
{
    struct arena_thread *row = context->row;
    charge(context, timer_now(context->trace, now));
    if (row->current == trace_sink(row) && place->current != trace_sink(row)) {
        row->skipped = 0;
        leave_sink(context);
    }
    row->current = place->current;
    row->skipped = place->skipped;
    log_step(context, false, now);
}

void tracer_go_back(struct lane *lane, const struct tracer_place *place, uint64_t key)
{
    uint64_t now = tracer_now();
    struct context *context = lane->first;
    /* After a fork the rows are others, and the key must do. */
    if (context == place->context && context->row == place->row) {
        go_back_in(context, place, now);
        context = context->next;
    }
    for (; context; context = context->next)
        leave_one(context, key, now);
}

bool tracer_leaves_out(const struct lane *lane, uint64_t caller)
{
    for (const struct context *context = lane->first; context; context = context->next) {
        struct trace *trace = context->trace;
        bool lasting;
        uint32_t code = trace->may_leave_out ? trace_code_row(trace, caller) : 0;
        if (!code && trace->may_leave_out) /* it had begun before the trace did */
            code = code_table_add(trace, caller, (PyObject *)caller, CALLEE_PYTHON, &lasting);
        if (!code || !arena_codes(trace->arena)[code].state)
            return false;
    }
    return true;
}

void tracer_leave_c_calls(void)
{
    struct lane *lane = tracer_lane();
    for (struct context *context = lane ? lane->first : NULL; context; context = context->next) {
        struct arena_thread *row = context->row;
        const struct arena_code *codes = arena_codes(context->trace->arena);
        uint64_t now = tracer_now();
        charge(context, timer_now(context->trace, now));
        while (codes[context->nodes[row->current].code].kind == CODE_C)
            row->current = context->nodes[row->current].parent;
        log_step(context, false, now);
    }
}

bool tracer_wants_c_calls(void)
{
    for (int slot = 0; slot < TRACER_TRACES; slot++)
        if (tracer.traces[slot] && tracer.traces[slot]->enabled && tracer.traces[slot]->c_calls)
            return true;
    return false;
}

/* Behind what was said before, unless that was said already. */
static void add_remark(struct arena *arena, const char *text)
{
    char all[ARENA_TEXT_MAX];
    struct arena_view view;
    uint32_t size = 0;
    const char *before =
        arena_look(&view, arena, arena->total_bytes) ? arena_text(&view, arena->remark, &size) : NULL;
    snprintf(all, sizeof all, "%.*s", before ? (int)size : 0, before ? before : "");
    if (strstr(all, text))
        return;
    size_t used = strlen(all);
    snprintf(all + used, sizeof all - used, "%s%s", used ? "; " : "", text);
    arena->remark = arena_add_text(arena, all, strlen(all));
}

void tracer_note(const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    for (int slot = 0; slot < TRACER_TRACES; slot++)
        if (tracer.traces[slot] && tracer.traces[slot]->enabled)
            add_remark(tracer.traces[slot]->arena, text);
}

bool tracer_in_main_thread(void)
{
    return syscall(SYS_gettid) == (long)getpid();
}

static int take_slot(struct trace *trace)
{
    for (int slot = 0; slot < TRACER_TRACES && trace->slot < 0; slot++) {
        if (tracer.traces[slot])
            continue;
        tracer.traces[slot] = trace;
        trace->slot = slot;
        for (struct lane *lane = tracer.lanes; lane; lane = lane->next_lane)
            lane->contexts[slot] = (struct context){0};
    }
    return trace->slot;
}

int tracer_begin(struct trace *trace, char *why, size_t why_bytes)
{
    init_once();
    if (tracer.forked)
        leave_parent_behind();
    if (trace->is_lost || take_slot(trace) < 0) {
        snprintf(why, why_bytes, "more than %d profiles are active at the same time", TRACER_TRACES);
        return -1;
    }
    /* Time between two recordings belongs to neither. */
    uint64_t now = timer_now(trace, tracer_now());
    for (struct lane *lane = tracer.lanes; lane; lane = lane->next_lane)
        if (lane->contexts[trace->slot].row)
            lane->contexts[trace->slot].row->last_ticks = now;
    trace->enabled = true;
    tracer_look_again();
    tracer_refresh_lane();
    if (event_source_update(why, why_bytes) == 0)
        return 0;
    trace->enabled = false;
    tracer_look_again();
    return -1;
}

void tracer_settle(struct trace *trace)
{
    if (trace->slot < 0 || !trace->enabled)
        return;
    uint64_t now = timer_now(trace, tracer_now());
    for (struct lane *lane = tracer.lanes; lane; lane = lane->next_lane) {
        struct context *context = &lane->contexts[trace->slot];
        if (context->row && context->trace == trace && !lane->retired)
            charge(context, now);
    }
}

void tracer_end(struct trace *trace)
{
    if (tracer.forked)
        leave_parent_behind();
    if (!trace->enabled)
        return;
    tracer_settle(trace);
    for (struct lane *lane = tracer.lanes; lane; lane = lane->next_lane) {
        struct context *context = &lane->contexts[trace->slot];
        if (!context->row || context->trace != trace)
            continue;
        while (context->row->current == trace_sink(context->row))
            leave_sink(context);
        context->row->current = context->row->root;
        log_step(context, false, tracer_now());
    }
    trace->enabled = false;
    tracer_look_again();
    event_source_update(NULL, 0);
}

void tracer_forget(struct trace *trace)
{
    tracer_end(trace);
    if (trace->slot < 0)
        return;
    tracer.traces[trace->slot] = NULL;
    for (struct lane *lane = tracer.lanes; lane; lane = lane->next_lane)
        lane->contexts[trace->slot] = (struct context){0};
    trace->slot = -1;
    tracer_look_again();
}

void tracer_before_fork(void)
{
    for (int slot = 0; slot < TRACER_TRACES; slot++) {
        struct trace *trace = tracer.traces[slot];
        if (trace && trace->shared)
            trace_before_fork(trace, tracer_own_lane->contexts[slot].row);
    }
}

void tracer_after_fork(void)
{
    tracer.forked = true;
    tracer_look_again();
}
