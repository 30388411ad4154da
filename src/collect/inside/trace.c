#include "collect/inside/trace.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/agent/own_memory.h"
#include "collect/inside/code_table.h"
#include "collect/inside/finder.h"
#include "collect/inside/throttle.h"
#include "store/recording.h"

int trace_init(struct trace *trace, struct arena *arena, bool shared, const struct trace_settings *settings,
               char *why, size_t why_bytes)
{
    *trace = (struct trace){
        .arena = arena,
        .shared = shared,
        .c_calls = settings->c_calls,
        .throttle = settings->throttle,
        .depth = settings->depth,
        .slot = -1,
    };
    if (filter_init(&trace->filter, settings->include, settings->exclude, settings->exclude_library, why,
                    why_bytes) < 0)
        return -1;
    call_log_init(&trace->log, arena);
    trace->may_leave_out =
        settings->throttle || settings->include || settings->exclude || settings->exclude_library;
    code_table_find_library(trace);
    return 0;
}

void trace_clear(struct trace *trace)
{
    table_clear(&trace->nodes);
    table_clear(&trace->codes);
    table_clear(&trace->labels);
    table_clear(&trace->texts);
    filter_clear(&trace->filter);
    Py_CLEAR(trace->timer);
    if (trace->arena)
        own_memory_unmap(trace->arena, trace->arena->total_bytes);
    trace->arena = NULL;
}

struct arena *trace_new_private_arena(const struct arena_limits *limits)
{
    struct arena *arena = own_memory_map(arena_bytes(limits));
    if (!arena)
        return NULL;
    struct clock_pair now = clock_read_pair(clock_has_counter());
    arena->start_ticks = now.ticks;
    arena->start_ns = now.ns;
    arena->ns_per_tick = clock_has_counter() ? 0.0 : 1.0;
    arena->python = interpreter.version;
    arena_format(arena, limits);
    return arena;
}

/* When the table is full, a new thread goes on where one that has ended was. */
static uint32_t share_row(struct trace *trace, uint64_t now)
{
    struct arena *arena = trace->arena;
    for (uint32_t tries = 1; tries < arena->thread_count; tries++) {
        uint32_t thread = trace->next_shared++ % (arena->thread_count - 1) + 1;
        struct arena_thread *row = &arena_threads(arena)[thread];
        if (!row->end_ticks || row->current != row->root)
            continue;
        row->tid = (uint64_t)syscall(SYS_gettid);
        row->last_ticks = now;
        row->end_ticks = 0;
        arena->merged_threads++;
        return thread;
    }
    return 0;
}

uint32_t trace_add_thread(struct trace *trace, uint64_t now)
{
    struct arena *arena = trace->arena;
    uint32_t thread = arena->thread_count;
    bool room = thread < arena->limits.threads && arena->node_count + 2 <= arena->limits.nodes;
    uint32_t root = room ? arena_add_node(arena, &(struct arena_node){.thread = thread}) : 0;
    uint32_t sink = room ? arena_add_node(arena, &(struct arena_node){.thread = thread, .parent = root}) : 0;
    struct arena_thread row = {
        .tid = (uint64_t)syscall(SYS_gettid),
        .start_ticks = now,
        .last_ticks = now,
        .root = root,
        .current = root,
    };
    uint32_t added = root && sink ? arena_add_thread(arena, &row) : share_row(trace, now);
    if (!added)
        arena->lost_threads++;
    return added;
}

/* Remembers the child in its parent, so that the next call finds it at once. */
static uint32_t remember(struct arena_node *parent, uint64_t key, uint32_t child)
{
    if (key == finder_watched_key)
        return child;
    parent->child_key[1] = parent->child_key[0];
    parent->child[1] = parent->child[0];
    parent->child[0] = child;
    parent->child_key[0] = key;
    return child;
}

static uint32_t add_child(struct trace *trace, uint32_t parent, uint64_t key, uint32_t code)
{
    struct arena_node *nodes = arena_nodes(trace->arena);
    struct arena_node row = {
        .key = key,
        .parent = parent,
        .code = code,
        .thread = nodes[parent].thread,
        .depth = nodes[parent].depth + 1,
    };
    uint32_t child = arena_add_node(trace->arena, &row);
    if (!child || !table_add(&trace->nodes, key, parent, child)) {
        trace->arena->lost_calls++;
        return TRACE_FULL;
    }
    return remember(&nodes[parent], key, child);
}

uint32_t trace_child(struct trace *trace, uint32_t parent, uint64_t key, PyObject *callee,
                     enum callee_kind kind)
{
    struct arena_node *nodes = arena_nodes(trace->arena);
    uint32_t child = table_find(&trace->nodes, key, parent);
    if (child && !trace->may_leave_out)
        return remember(&nodes[parent], key, child);
    uint32_t code = child ? nodes[child].code : trace_code_row(trace, key);
    bool lasting = true;
    if (!code)
        code = code_table_add(trace, key, callee, kind, &lasting);
    if (!code) {
        trace->arena->lost_calls++;
        return TRACE_FULL;
    }
    if (trace->may_leave_out && throttle_leaves_out(trace, code))
        return TRACE_LEFT_OUT;
    if (!lasting) {
        key = trace_passing_key(code);
        child = table_find(&trace->nodes, key, parent);
    }
    if (child) /* a function that is to be throttled must come by here at every call */
        return arena_codes(trace->arena)[code].state ? child : remember(&nodes[parent], key, child);
    if (trace->depth && nodes[parent].depth >= trace->depth)
        return TRACE_FULL;
    return add_child(trace, parent, key, code);
}

uint32_t trace_code_row(const struct trace *trace, uint64_t key)
{
    return table_find(&trace->codes, key, 0);
}

bool trace_callee_is_python(const struct trace *trace, uint64_t key)
{
    uint32_t code = trace_code_row(trace, key);
    return !code || arena_codes(trace->arena)[code].kind == CODE_PYTHON;
}

/* Rows and texts of functions keep their numbers in the new arena; losses are counted there anew. */
static void copy_functions(const struct trace *trace, struct arena *to, struct arena *from)
{
    to->code_count = trace->at_fork.code_count;
    to->text_used = trace->at_fork.text_used;
    memcpy(arena_codes(to), arena_codes(from), (size_t)to->code_count * sizeof(struct arena_code));
    memcpy((char *)to + to->text_at, (char *)from + from->text_at, to->text_used);
}

/* The thread's open calls, root first, as nodes of the new arena; the number of the innermost. */
static uint32_t copy_stack(struct trace *trace, struct arena_node *old, uint32_t old_root, uint32_t current,
                           uint32_t root)
{
    uint32_t depth = 0;
    for (uint32_t at = current; at != old_root; at = old[at].parent)
        depth++;
    uint32_t node = root;
    for (; depth > 0 && node != TRACE_FULL; depth--) {
        uint32_t at = current;
        for (uint32_t up = 1; up < depth; up++)
            at = old[at].parent;
        node = add_child(trace, node, old[at].key, old[at].code);
    }
    return node == TRACE_FULL ? root : node;
}

void trace_before_fork(struct trace *trace, const struct arena_thread *row)
{
    trace->at_fork.code_count = trace->arena->code_count;
    trace->at_fork.text_used = trace->arena->text_used;
    trace->at_fork.root = row ? row->root : 0;
    if (!row)
        return;
    trace->at_fork.in_sink = row->current == trace_sink(row);
    trace->at_fork.current =
        trace->at_fork.in_sink ? arena_nodes(trace->arena)[row->current].parent : row->current;
    trace->at_fork.skipped = row->skipped;
}

uint32_t trace_move_after_fork(struct trace *trace, struct arena *arena, uint64_t now)
{
    struct arena *old = trace->arena;
    copy_functions(trace, arena, old);
    table_clear(&trace->nodes);
    trace->arena = arena;
    call_log_init(&trace->log, arena);
    uint32_t thread = trace_add_thread(trace, now);
    if (thread && trace->at_fork.root) {
        struct arena_thread *moved = &arena_threads(arena)[thread];
        moved->current =
            copy_stack(trace, arena_nodes(old), trace->at_fork.root, trace->at_fork.current, moved->root);
        if (trace->log.shared)
            call_log_carry(&trace->log, moved, moved->current, now);
        if (trace->at_fork.in_sink) {
            arena_nodes(arena)[trace_sink(moved)].parent = moved->current;
            moved->current = trace_sink(moved);
            moved->skipped = trace->at_fork.skipped;
        }
    }
    own_memory_unmap(old, old->total_bytes);
    return thread;
}
