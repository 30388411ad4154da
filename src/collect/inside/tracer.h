/*
 * tracer: the event source's consumer. Every call and return of every thread comes through tracer_enter and
 * tracer_leave, which keep, for each active trace, the current node of the thread and charge the time since
 * the thread's last event to it. One reading of the clock and one cache line of the tree for each event.
 *
 * A lane is what a thread keeps; a context is the lane's place in one trace. Lanes are made at a thread's
 * first event and retired when the thread ends. All under the interpreter lock, except the fast path's own
 * lane and the end of a thread, which touch nothing shared.
 */
#ifndef SONDE_COLLECT_INSIDE_TRACER_H
#define SONDE_COLLECT_INSIDE_TRACER_H

#include "base/clock.h"
#include "collect/inside/trace.h"

struct agent;

#define TRACER_TRACES 8 /* that may be active at the same time */

struct context {
    struct arena_thread *row; /* in the arena; NULL = this thread has no place in the trace */
    struct arena_node *nodes;
    struct trace *trace;
    struct context *next; /* the next active one of the lane */
    struct call_log *log; /* of the trace's single calls; NULL = there is none */
    bool special;         /* throttling or a timer: enter and leave by the long way */
};

struct lane {
    /* The usual case, in one place: one active trace with nothing special about it. NULL = go the long way. */
    struct arena_thread *quick_row;
    struct arena_node *quick_nodes;
    struct call_log *quick_log; /* NULL = single calls are not logged */
    struct context *first;      /* active contexts; NULL = none */
    uint32_t generation;
    bool retired;                     /* its thread has ended */
    struct arena_thread *lasting_row; /* in the arena that is the recorder's too; NULL = none */
    struct context contexts[TRACER_TRACES];
    struct lane *next_lane;
};

struct tracer {
    uint32_t generation;       /* changes when a trace begins or ends: lanes look again */
    bool counter;              /* time is the machine's counter, else ns */
    bool forked;               /* shared traces are still in the parent's arenas */
    bool checks_frames;        /* greenlets are about: believe the interpreter's frames, not the events */
    const struct agent *agent; /* NULL = no shared traces */
    struct trace *traces[TRACER_TRACES];
    struct lane *lanes;
};

extern struct tracer tracer;
extern struct lane tracer_no_lane; /* that of threads without one, so that nobody need ask */
extern __thread struct lane *tracer_own_lane __attribute__((tls_model("initial-exec")));

/* Makes every lane look anew at what is active. */
void tracer_look_again(void);

/* Brings the calling thread's lane up to date; NULL when nothing is active. */
struct lane *tracer_refresh_lane(void);

static inline struct lane *tracer_lane(void)
{
    struct lane *lane = tracer_own_lane;
    if (__builtin_expect(lane->generation == tracer.generation, 1))
        return lane->first ? lane : NULL;
    return tracer_refresh_lane();
}

static inline uint64_t tracer_now(void)
{
    return tracer.counter ? clock_counter() : clock_monotonic_ns();
}

/* What the event source may do about a call site or function from now on. */
enum tracer_wish { TRACER_GO_ON, TRACER_NOT_AGAIN };

/* The calling thread enters or leaves a function, in each active trace. */
enum tracer_wish tracer_enter(struct lane *lane, uint64_t key, PyObject *callee, enum callee_kind kind);
enum tracer_wish tracer_leave(struct lane *lane, uint64_t key);

/* The same for the usual case, inline: a child met lately, a return in turn. False = nothing was done. */
static inline bool tracer_enter_quickly(uint64_t key)
{
    struct lane *lane = tracer_own_lane;
    struct arena_thread *row = lane->quick_row;
    if (__builtin_expect(!row, 0))
        return false;
    struct arena_node *nodes = lane->quick_nodes;
    struct arena_node *node = &nodes[row->current];
    uint32_t child;
    if (__builtin_expect(node->child_key[0] == key, 1))
        child = node->child[0];
    else if (node->child_key[1] == key)
        child = node->child[1];
    else
        return false;
    uint64_t now = clock_counter();
    node->self_ticks += now - row->last_ticks;
    row->last_ticks = now;
    nodes[child].calls++;
    row->current = child;
    if (lane->quick_log)
        call_log_put(lane->quick_log, row, (struct call_log_step){child, true, now});
    return true;
}

static inline bool tracer_leave_quickly(uint64_t key)
{
    struct lane *lane = tracer_own_lane;
    struct arena_thread *row = lane->quick_row;
    if (__builtin_expect(!row, 0))
        return false;
    struct arena_node *node = &lane->quick_nodes[row->current];
    if (__builtin_expect(node->key != key, 0))
        return false;
    uint64_t now = clock_counter();
    node->self_ticks += now - row->last_ticks;
    row->last_ticks = now;
    row->current = node->parent;
    if (lane->quick_log)
        call_log_put(lane->quick_log, row, (struct call_log_step){node->parent, false, now});
    return true;
}

/* Where a thread was when a function began, so that it can go back there without the help of a return event. */
struct tracer_place {
    struct context *context; /* of the first active trace */
    struct arena_thread *row;
    uint32_t current, skipped;
};
static inline struct tracer_place tracer_place(const struct lane *lane)
{
    struct arena_thread *row = lane->first->row;
    return (struct tracer_place){lane->first, row, row->current, row->skipped};
}
/* Leaves the function, which may be known to other traces by its key only. */
void tracer_go_back(struct lane *lane, const struct tracer_place *place, uint64_t key);

static inline bool tracer_go_back_quickly(const struct tracer_place *place)
{
    struct lane *lane = tracer_own_lane;
    struct arena_thread *row = lane->quick_row;
    if (__builtin_expect(!row || row != place->row || row->current == trace_sink(row), 0))
        return false;
    uint64_t now = clock_counter();
    lane->quick_nodes[row->current].self_ticks += now - row->last_ticks;
    row->last_ticks = now;
    row->current = place->current;
    row->skipped = place->skipped;
    if (lane->quick_log)
        call_log_put(lane->quick_log, row, (struct call_log_step){place->current, false, now});
    return true;
}

/* A line begins of the function that runs, whose key and first line these are: for the logs of traces in which its call is. */
void tracer_log_line(uint64_t key, uint32_t first_line, uint32_t line, uint64_t now);

/* Whether all active traces leave this Python function out, and with it the C functions that it calls. */
bool tracer_leaves_out(const struct lane *lane, uint64_t caller);

/* Starts or stops recording into the trace. 0, or -1 with words. Interpreter lock held. */
int tracer_begin(struct trace *trace, char *why, size_t why_bytes);
void tracer_end(struct trace *trace);
/* Forgets a trace that has ended for good. */
void tracer_forget(struct trace *trace);
/* Charges the time since each thread's last event, so that a snapshot taken now is complete. */
void tracer_settle(struct trace *trace);
/* Says in every active trace what could not be recorded. */
void tracer_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool tracer_in_main_thread(void);
/* Leaves the C functions that the calling thread is in, as far as the records go: their returns were not seen. */
void tracer_leave_c_calls(void);
/* Whether an active trace wants C calls. */
bool tracer_wants_c_calls(void);
/* In the thread that forks, just before. */
void tracer_before_fork(void);
/* In the child of a fork, before anything else. Shared traces move to arenas of their own at the first event: a
 * child that only execs has none, and never troubles the recorder. */
void tracer_after_fork(void);

#endif
