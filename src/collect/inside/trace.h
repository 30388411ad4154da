/*
 * trace: one recording of calls: its arena, its settings, and the tables that find a function's row and a
 * call path's node. A trace is shared by all threads of the interpreter; the interpreter lock guards it.
 *
 * Everything here but trace_child is off the hot path. Private tables are mmapped, never malloced, so that
 * tracing does not disturb the program's heap.
 */
#ifndef SONDE_COLLECT_INSIDE_TRACE_H
#define SONDE_COLLECT_INSIDE_TRACE_H

#include "collect/agent/arena.h"
#include "collect/inside/call_log.h"
#include "collect/inside/filter.h"
#include "collect/inside/interpreter.h"
#include "collect/inside/table.h"

enum callee_kind { CALLEE_PYTHON, CALLEE_C };

struct trace_settings {
    bool c_calls;
    bool throttle;
    uint32_t depth; /* 0 = no limit */
    const char *include, *exclude;
    bool exclude_library;
};

struct trace {
    struct arena *arena;
    bool shared; /* the arena is the recorder's too */
    bool enabled;
    bool is_lost; /* in the child of a fork that has no memory of its own */
    bool c_calls, throttle;
    uint32_t depth;
    struct call_log log; /* of single calls, where the arena has room for them */
    struct filter filter;
    bool may_leave_out;  /* a filter or throttling can make functions vanish */
    struct table nodes;  /* (key, parent) → node */
    struct table codes;  /* key → code row */
    struct table labels; /* hash of a function's texts, line → code row */
    struct table texts;  /* hash of a text → text */
    PyObject *timer;     /* sonde.Profile(timer); NULL = the clock */
    double timer_unit;
    uint32_t next_shared; /* where to look for a thread's row that may be shared */
    int slot;             /* place in the tracer's list; -1 = not there */
    struct {
        uint32_t code_count, text_used;
        uint32_t root, current; /* the innermost open call; root 0 = the thread has no row */
        bool in_sink;           /* below a node that takes no children, `skipped` calls deep */
        uint32_t skipped;
    } at_fork;
};

/* 0, or -1 with words. `arena` is owned by the trace from now on. */
int trace_init(struct trace *trace, struct arena *arena, bool shared, const struct trace_settings *settings,
               char *why, size_t why_bytes);
void trace_clear(struct trace *trace);

/* Private memory formatted as an arena; NULL when there is none. */
struct arena *trace_new_private_arena(const struct arena_limits *limits);

/* A new row, root and sink for the calling thread; 0 when the table is full. */
uint32_t trace_add_thread(struct trace *trace, uint64_t now);
/* The sink of a thread lies just behind its root. */
static inline uint32_t trace_sink(const struct arena_thread *row)
{
    return row->root + 1;
}

/* The child of `parent` for this callee, made when new. TRACE_LEFT_OUT when the callee is not to be recorded;
 * TRACE_FULL when it cannot be told apart any more (depth or size limit). */
#define TRACE_LEFT_OUT 0u
#define TRACE_FULL     UINT32_MAX
uint32_t trace_child(struct trace *trace, uint32_t parent, uint64_t key, PyObject *callee,
                     enum callee_kind kind);

/* The key in the tree of functions whose own keys are not remembered (code_table_add). It is odd, as no address of an
 * object is. */
static inline uint64_t trace_passing_key(uint32_t code)
{
    return (uint64_t)code << 1 | 1;
}

/* The row of a callee met before; 0 when unknown. */
uint32_t trace_code_row(const struct trace *trace, uint64_t key);
bool trace_callee_is_python(const struct trace *trace, uint64_t key);

/* Remembers where the thread that forks is: the arena is shared, and the parent moves on in it while its child
 * wakes up. `row` is the thread's row, NULL when it has none. */
void trace_before_fork(struct trace *trace, const struct arena_thread *row);
/* In the child of a fork: moves to another arena, keeping the functions and the calling thread's stack as they
 * were before. The thread's new number is returned (0 = failed, trace is dead). */
uint32_t trace_move_after_fork(struct trace *trace, struct arena *arena, uint64_t now);

#endif
