#include "collect/inside/line_clock.h"

#include <pthread.h>
#include <string.h>

#include "collect/agent/own_memory.h"
#include "collect/inside/code_table.h"
#include "collect/inside/tracer.h"

#define FIRST_ROOM 256u /* calls; then twice as many, as often as needed */
#define ROOM_MAX   (1u << 20)

struct line_clock line_clock;
uint32_t line_clock_threads_in_line;
void (*line_clock_gate)(const struct line_code *function, bool opens);
static struct arena_line_call no_call;
static struct arena_thread no_row;
struct line_thread line_clock_no_thread = {.top = &no_call, .bottom = &no_call, .row = &no_row};
__thread struct line_thread *line_clock_own __attribute__((tls_model("initial-exec"))) =
    &line_clock_no_thread;

static pthread_key_t thread_key;
static struct line_thread *threads;

/* The calls of the thread that forks, as they were just before; and who makes the child's arena. */
static struct arena_line_call *calls_at_fork;
static uint32_t depth_at_fork, room_at_fork, blocks_at_fork;
static struct arena *(*open_own_arena)(void);

/* Runs when a thread ends, without the interpreter lock. In a forked child the arena may still be the parent's, where no
 * thread has ended. */
static void retire(void *data)
{
    struct line_thread *thread = data;
    line_clock_own = &line_clock_no_thread;
    if (!open_own_arena)
        thread->row->end_ticks = line_clock_now();
    __atomic_store_n(&thread->retired, true, __ATOMIC_RELEASE);
}

static struct line_thread *take_retired(void)
{
    for (struct line_thread *thread = threads; thread; thread = thread->next) {
        if (!__atomic_load_n(&thread->retired, __ATOMIC_ACQUIRE))
            continue;
        line_clock_threads_in_line -= thread->in_line;
        *thread = (struct line_thread){
            .next = thread->next, .marks = thread->marks, .mark_count = thread->mark_count};
        return thread;
    }
    struct line_thread *thread = own_memory_map(sizeof *thread);
    if (!thread)
        return NULL;
    thread->next = threads;
    threads = thread;
    return thread;
}

/* threading.Thread's name for the calling thread, as bytes; NULL when it has none. */
static PyObject *name_of_thread(void)
{
    PyObject *modules = PyImport_GetModuleDict();
    PyObject *threading = modules ? PyDict_GetItemString(modules, "threading") : NULL;
    PyObject *active = threading ? PyObject_GetAttrString(threading, "_active") : NULL;
    PyObject *identity = PyLong_FromUnsignedLong(PyThread_get_thread_ident());
    PyObject *thread = active && PyDict_Check(active) && identity ? PyDict_GetItem(active, identity) : NULL;
    PyObject *name = thread ? PyObject_GetAttrString(thread, "_name") : NULL;
    PyObject *bytes = name && PyUnicode_Check(name) ? interpreter_utf8(name) : NULL;
    Py_XDECREF(name);
    Py_XDECREF(identity);
    Py_XDECREF(active);
    return bytes;
}

static void set_name(struct arena_thread *row)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *bytes = name_of_thread();
    const char *name = bytes ? PyBytes_AsString(bytes) : "MainThread";
    if (bytes || tracer_in_main_thread())
        row->name = code_table_text(line_clock.trace, name, strlen(name));
    Py_XDECREF(bytes);
    PyErr_Restore(type, value, traceback);
}

/* Gives the thread a stack of `room` calls, the bottom before them. False when the table is full. */
static bool make_stack(struct line_thread *thread, uint32_t room)
{
    struct arena *arena = line_clock.trace->arena;
    uint32_t first = arena_add_line_calls(arena, room + 1);
    if (!first)
        return false;
    struct arena_line_call *bottom = &arena_line_calls(arena)[first];
    uint32_t depth = thread->row->line_depth;
    if (depth)
        memcpy(bottom + 1, thread->bottom + 1, depth * sizeof *bottom);
    thread->bottom = bottom;
    thread->top = bottom + depth;
    thread->room = room;
    thread->row->line_call = first + 1;
    return true;
}

static bool start_thread(struct line_thread *thread)
{
    struct trace *trace = line_clock.trace;
    uint32_t row = trace_add_thread(trace, line_clock_now());
    if (!row)
        return false;
    thread->row = &arena_threads(trace->arena)[row];
    thread->row->line_depth = 0;
    set_name(thread->row);
    return make_stack(thread, FIRST_ROOM);
}

static void leave_parent_behind(void);

struct line_thread *line_clock_move(void)
{
    if (open_own_arena)
        leave_parent_behind();
    return line_clock_own;
}

struct line_thread *line_clock_new_thread(void)
{
    line_clock_move();
    if (line_clock_own != &line_clock_no_thread)
        return line_clock_own;
    if (!line_clock.trace)
        return NULL;
    struct line_thread *thread = take_retired();
    if (!thread || !start_thread(thread)) {
        if (thread)
            thread->retired = true;
        line_clock.trace->arena->lost_lines++;
        return NULL;
    }
    line_clock_own = thread;
    pthread_setspecific(thread_key, thread);
    return thread;
}

/* ---- calls ---- */

static void log_line(const struct arena_line_call *call, uint32_t line, uint64_t now)
{
    const struct line_code *function = (const struct line_code *)call->owner;
    const struct arena_code *code = &arena_codes(line_clock.trace->arena)[function->code_row];
    tracer_log_line(function->code, code->line, line, now);
}

void line_clock_log_rest(uint64_t key, uint64_t now)
{
    const struct arena_line_call *call = line_clock_own->top;
    if (call->key == key && call->rest && call->row)
        log_line(call, call->first_line + (call->row - call->first_row), now);
}

void line_clock_pass_on(const struct arena_line_call *call, uint32_t line, uint64_t now)
{
    if (line_clock.memory)
        line_memory_line(call, line, now);
    if (line_clock.is_logged)
        log_line(call, line, now);
}

/* The place of the call of the same function around a new one; 0 = there is none. */
static uint32_t find_outer(const struct line_thread *thread, const struct line_code *function)
{
    if (function->open == 0 || function->thread == thread)
        return function->open ? function->innermost : 0;
    for (const struct arena_line_call *call = thread->top; call != thread->bottom; call--)
        if (call->owner == (uint64_t)function)
            return (uint32_t)(call - thread->bottom);
    return 0;
}

static bool has_room(struct line_thread *thread)
{
    uint32_t depth = (uint32_t)(thread->top - thread->bottom);
    if (__builtin_expect(depth < thread->room, 1))
        return true;
    if (thread->room < ROOM_MAX && make_stack(thread, thread->room * 2))
        return true;
    thread->skipped++;
    line_clock.trace->arena->lost_lines++;
    return false;
}

void line_clock_set_rows(const struct line_thread *thread, struct line_code *function,
                         struct arena_line_call *call)
{
    struct arena *arena = line_clock.trace->arena;
    uint32_t block = line_codes_block(
        function, line_clock.per_thread ? (uint32_t)(thread->row - arena_threads(arena)) : 0);
    const struct arena_line_block *rows = &arena_line_blocks(arena)[block];
    call->first_row = rows->first_row;
    call->first_line = rows->first_line;
    call->line_count = rows->line_count;
}

struct arena_line_call *line_clock_enter(struct line_thread *thread, struct line_code *function,
                                         uint32_t line, uint64_t now)
{
    if (!has_room(thread))
        return NULL;
    struct arena_line_call *call = thread->top + 1;
    *call = (struct arena_line_call){
        .key = function->code,
        .owner = (uint64_t)function,
        .since_ticks = now,
        .begin_ticks = now,
        .outer = find_outer(thread, function),
    };
    line_clock_set_rows(thread, function, call);
    if (line)
        line_clock_go_on(call, line);
    thread->top = call;
    if (!function->open || function->thread == thread) {
        function->thread = thread;
        function->innermost = (uint32_t)(call - thread->bottom);
    }
    function->open++;
    __atomic_store_n(&thread->row->line_depth, thread->row->line_depth + 1, __ATOMIC_RELEASE);
    if (__builtin_expect(line_clock.memory, 0))
        line_memory_enter(thread, call, now);
    if (__builtin_expect(function->is_gate, 0))
        line_clock_gate(function, true);
    return call;
}

/* Takes the innermost call off the stack. */
static void pop(struct line_thread *thread, uint64_t now)
{
    struct arena_line_call *call = thread->top, *caller = call - 1;
    struct line_code *function = (struct line_code *)call->owner;
    uint64_t elapsed = now - call->begin_ticks;
    if (__builtin_expect(function->is_gate, 0))
        line_clock_gate(function, false);
    line_clock_charge(call, now);
    if (__builtin_expect(line_clock.memory, 0))
        line_memory_leave(thread, call, now);
    __atomic_store_n(&thread->row->line_depth, thread->row->line_depth - 1, __ATOMIC_RELEASE);
    thread->top = caller;
    if (!caller->callee)
        caller->callee_ticks += elapsed;
    if (call->outer)
        thread->bottom[call->outer].recursion_ticks += elapsed;
    function->open--;
    if (function->thread == thread)
        function->innermost = call->outer;
}

/* The innermost call of the function in this stack; the bottom when there is none. */
static struct arena_line_call *search(struct line_thread *thread, const struct line_code *function)
{
    struct arena_line_call *call = thread->top;
    while (call != thread->bottom && call->owner != (uint64_t)function)
        call--;
    return call;
}

void line_clock_leave(struct line_thread *thread, const struct line_code *function, uint64_t now)
{
    struct arena_line_call *call = search(thread, function);
    if (call == thread->bottom)
        return;
    while (thread->top != call)
        pop(thread, now);
    pop(thread, now);
}

struct arena_line_call *line_clock_find(struct line_thread *thread, struct line_code *function, uint64_t now)
{
    struct arena_line_call *call = search(thread, function);
    if (call == thread->bottom)
        return line_clock_enter(thread, function, 0, now);
    while (thread->top != call)
        pop(thread, now);
    return call;
}

/* ---- beginning, end, fork ---- */

void line_clock_begin(struct trace *trace, bool per_thread)
{
    static bool done;
    if (!done)
        pthread_key_create(&thread_key, retire);
    done = true;
    line_clock = (struct line_clock){
        .trace = trace,
        .rows = arena_lines(trace->arena),
        .counter = clock_has_counter(),
        .per_thread = per_thread,
    };
}

static void forget_calls(struct line_thread *thread)
{
    thread->top = thread->bottom;
    thread->row->line_depth = 0;
    thread->skipped = 0;
    line_clock_note(thread);
}

void line_clock_end(void)
{
    for (struct line_thread *thread = threads; thread; thread = thread->next)
        if (!__atomic_load_n(&thread->retired, __ATOMIC_ACQUIRE))
            forget_calls(thread);
    line_codes_end();
    line_clock.trace = NULL;
}

/* In a forked child that has counted nothing yet they are the parent's. */
void line_clock_rest(void)
{
    uint64_t now = line_clock_now();
    for (struct line_thread *thread = threads; thread && !open_own_arena; thread = thread->next) {
        if (__atomic_load_n(&thread->retired, __ATOMIC_ACQUIRE))
            continue;
        while (thread->top != thread->bottom)
            pop(thread, now);
        line_clock_note(thread);
    }
}

void line_clock_forget_others(void)
{
    struct line_thread *own = line_clock_own;
    for (struct line_thread *thread = threads; thread; thread = thread->next) {
        if (thread == own || thread->retired)
            continue;
        for (const struct arena_line_call *call = thread->top; call != thread->bottom; call--)
            ((struct line_code *)call->owner)->open--;
        forget_calls(thread);
        thread->row->end_ticks = line_clock_now();
        thread->retired = true;
    }
}

void line_clock_before_fork(void)
{
    const struct line_thread *thread = line_clock_own;
    uint32_t depth = (uint32_t)(thread->top - thread->bottom);
    if (!line_clock.trace)
        return;
    trace_before_fork(line_clock.trace, NULL);
    blocks_at_fork = line_clock.trace->arena->line_block_count;
    if (depth > room_at_fork) {
        calls_at_fork = own_memory_map(2 * depth * sizeof *calls_at_fork);
        room_at_fork = calls_at_fork ? 2 * depth : 0;
    }
    depth_at_fork = depth < room_at_fork ? depth : room_at_fork;
    if (depth_at_fork)
        memcpy(calls_at_fork, thread->bottom + 1, depth_at_fork * sizeof *calls_at_fork);
}

void line_clock_after_fork(struct arena *(*open_arena)(void))
{
    if (!line_clock.trace)
        return;
    for (struct line_thread *thread = threads; thread; thread = thread->next)
        thread->retired = true, thread->in_line = false;
    line_clock_threads_in_line = 0;
    pthread_setspecific(thread_key, NULL);
    line_clock_own = &line_clock_no_thread;
    open_own_arena = open_arena;
}

/* Blocks keep their numbers, and all belong to the one thread that there is. */
static void copy_blocks(struct arena *to, struct arena *from)
{
    for (uint32_t i = 1; i < blocks_at_fork; i++) {
        struct arena_line_block block = arena_line_blocks(from)[i];
        block.thread = 1;
        block.since_ticks = line_clock_now();
        arena_add_line_block(to, &block);
    }
}

/* The calls go on: their lines were hits of the parent's, and their time until now was, too. */
static void copy_calls(struct line_thread *thread, uint64_t now)
{
    for (struct line_code *function = line_codes_first(); function; function = function->next)
        function->open = function->innermost = 0;
    for (uint32_t i = 1; i <= depth_at_fork; i++) {
        struct arena_line_call *call = &thread->bottom[i];
        struct line_code *function = (struct line_code *)calls_at_fork[i - 1].owner;
        *call = calls_at_fork[i - 1];
        call->since_ticks = call->begin_ticks = call->callee_since_ticks = now;
        call->callee_ticks = call->recursion_ticks = 0;
        call->rest = 1;
        function->thread = thread;
        function->innermost = i;
        function->open++;
        thread->top = call;
        thread->row->line_depth = i;
    }
}

static void leave_parent_behind(void)
{
    struct trace *trace = line_clock.trace;
    struct arena *arena = open_own_arena();
    uint64_t now = line_clock_now();
    open_own_arena = NULL;
    line_clock.trace = NULL;
    if (!arena)
        return;
    copy_blocks(arena, trace->arena);
    arena->measures_memory = trace->arena->measures_memory;
    uint32_t row = trace_move_after_fork(trace, arena, now);
    struct line_thread *thread = row ? take_retired() : NULL;
    if (!thread)
        return;
    line_clock.trace = trace;
    line_clock.rows = arena_lines(arena);
    thread->row = &arena_threads(arena)[row];
    set_name(thread->row);
    if (!make_stack(thread, depth_at_fork + FIRST_ROOM)) {
        line_clock.trace = NULL;
        return;
    }
    copy_calls(thread, now);
    if (line_clock.memory)
        line_memory_moved(thread);
    line_clock_own = thread;
    pthread_setspecific(thread_key, thread);
}
