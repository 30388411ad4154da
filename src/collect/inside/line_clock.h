/*
 * line_clock: charges time to the lines of chosen functions. Each thread has a stack of the calls of chosen functions
 * that are going on in it, in the arena, so that the recorder can charge what had not ended when the program was killed.
 * The clock is read once for each event.
 *
 * A line's time ends when the next line of the same call begins, or the call ends. What it spends in Python functions
 * that it calls, directly or through C, is its callees'. What it spends in calls of its own function is not its time at
 * all but that of their lines: so the lines of a function add up to the time spent in it, in recursion too.
 *
 * All under the interpreter lock, but for the end of a thread.
 */
#ifndef SONDE_COLLECT_INSIDE_LINE_CLOCK_H
#define SONDE_COLLECT_INSIDE_LINE_CLOCK_H

#include "base/clock.h"
#include "collect/agent/arena.h"
#include "collect/inside/line_codes.h"
#include "collect/inside/line_memory.h"

struct line_thread {
    struct arena_line_call *top; /* the innermost call; the bottom of the stack is none */
    struct arena_line_call *bottom;
    struct arena_thread *row; /* in the arena */
    uint32_t room;            /* calls that the stack holds */
    uint32_t skipped;         /* calls over that, which are not timed */
    bool retired;             /* its thread has ended */
    bool in_line;             /* as last noted (line_clock_note) */
    struct line_memory_marks
        *marks; /* of its calls, by their places in the stack; mmapped, and line_memory's */
    uint32_t mark_count, marks_session;
    const int64_t *growth; /* of the heap; NULL = not asked for yet */
    int64_t own_bytes;     /* of that, what we have allocated ourselves */
    uint64_t looked_ticks; /* when its memory was last looked at */
    struct line_thread *next;
};

struct line_clock {
    struct trace *trace;     /* whose arena times go to; NULL = nothing is recorded */
    struct arena_line *rows; /* of the arena */
    bool counter;            /* time is the machine's counter, else ns */
    bool memory;             /* lines are charged with memory, too (line_memory.h) */
    bool is_logged;          /* they go to the logs of traces, too (tracer_log_line) */
    bool per_thread;
};

extern struct line_clock line_clock;
/* Told when a call of a function with is_gate has begun, and before it ends; NULL = nobody. */
extern void (*line_clock_gate)(const struct line_code *function, bool opens);
extern struct line_thread line_clock_no_thread; /* that of threads without one, so that nobody need ask */
extern __thread struct line_thread *line_clock_own __attribute__((tls_model("initial-exec")));

/* Makes the calling thread's; NULL when it can have none. */
struct line_thread *line_clock_new_thread(void);

static inline struct line_thread *line_clock_thread(void)
{
    struct line_thread *thread = line_clock_own;
    return __builtin_expect(thread != &line_clock_no_thread, 1) ? thread : line_clock_new_thread();
}

/* In a forked child, before the first event: the thread that forked goes on in an arena of the child's own. */
struct line_thread *line_clock_move(void);

/* The calling thread's if it has one, else line_clock_no_thread, in which nothing goes on. */
static inline struct line_thread *line_clock_present(void)
{
    struct line_thread *thread = line_clock_own;
    return __builtin_expect(thread != &line_clock_no_thread, 1) ? thread : line_clock_move();
}

static inline uint64_t line_clock_now(void)
{
    return line_clock.counter ? clock_counter() : clock_monotonic_ns();
}

/* The time since the line began is its own. */
static inline void line_clock_charge(struct arena_line_call *call, uint64_t now)
{
    struct arena_line *line = &line_clock.rows[call->row];
    if (__builtin_expect(call->callee != 0, 0)) { /* its end was not seen */
        call->callee_ticks += now - call->callee_since_ticks;
        call->callee = 0;
    }
    uint64_t elapsed = now - call->since_ticks, total = elapsed - call->recursion_ticks;
    call->since_ticks = now;
    line->total_ticks += total;
    line->self_ticks += elapsed - call->callee_ticks;
    call->callee_ticks = call->recursion_ticks = 0;
    if (__builtin_expect(call->rest, 0)) {
        call->rest = 0;
        return;
    }
    if (total > line->max_ticks)
        line->max_ticks = total;
    if (total < line->min_ticks)
        line->min_ticks = total;
}

static inline uint32_t line_clock_row(const struct arena_line_call *call, uint32_t line)
{
    uint32_t place = line - call->first_line;
    return place < call->line_count ? call->first_row + place : 0;
}

/* For the logs of traces, after whoever traces calls was told of it: the thread's innermost call, if it is of that function
 * (key), goes on in the middle of a line. */
void line_clock_log_rest(uint64_t key, uint64_t now);
/* What else is to be done when a line begins. */
void line_clock_pass_on(const struct arena_line_call *call, uint32_t line, uint64_t now);

/* A line of the call begins. */
static inline void line_clock_line(struct arena_line_call *call, uint32_t line, uint64_t now)
{
    line_clock_charge(call, now);
    if (__builtin_expect(line_clock.memory | line_clock.is_logged, 0))
        line_clock_pass_on(call, line, now);
    call->row = line_clock_row(call, line);
    line_clock.rows[call->row].hits++;
}

/* The call goes on in the middle of a line: that is not a hit. */
static inline void line_clock_go_on(struct arena_line_call *call, uint32_t line)
{
    call->row = line_clock_row(call, line);
    call->rest = 1;
}

/* A call of a chosen function begins, or goes on in the middle of `line` (0 = it begins); NULL when there is no room
 * for it. */
struct arena_line_call *line_clock_enter(struct line_thread *thread, struct line_code *function,
                                         uint32_t line, uint64_t now);
/* Finds the rows of a call whose function has been described since it began. */
void line_clock_set_rows(const struct line_thread *thread, struct line_code *function,
                         struct arena_line_call *call);
/* The innermost call of the chosen function ends. */
void line_clock_leave(struct line_thread *thread, const struct line_code *function, uint64_t now);
/* That call, when it is not the thread's innermost one or not known to be going on. NULL as line_clock_enter. */
struct arena_line_call *line_clock_find(struct line_thread *thread, struct line_code *function, uint64_t now);

/* Whether a line of a chosen function runs at this moment, and not a function that it called. */
static inline bool line_clock_in_line(const struct line_thread *thread)
{
    return thread->top->key && !thread->top->callee;
}

/* How many threads are in a line, of those that note it: after each event that may change it. */
extern uint32_t line_clock_threads_in_line;
static inline void line_clock_note(struct line_thread *thread)
{
    bool in_line = line_clock_in_line(thread);
    line_clock_threads_in_line += (uint32_t)in_line - (uint32_t)thread->in_line;
    thread->in_line = in_line;
}

/* A function that is not chosen begins or ends. Only that which a line has called itself counts. */
static inline void line_clock_enter_callee(struct line_thread *thread, uint64_t key, uint64_t now)
{
    struct arena_line_call *call = thread->top;
    if (!call->callee) {
        call->callee = key;
        call->callee_since_ticks = now;
        call->callee_depth = 0;
    } else if (call->callee == key) {
        call->callee_depth++;
    }
}

static inline void line_clock_leave_callee(struct line_thread *thread, uint64_t key, uint64_t now)
{
    struct arena_line_call *call = thread->top;
    if (call->callee != key)
        return;
    if (call->callee_depth > 0) {
        call->callee_depth--;
        return;
    }
    call->callee_ticks += now - call->callee_since_ticks;
    call->callee = 0;
}

/* From now on times go to the trace's arena. */
void line_clock_begin(struct trace *trace, bool per_thread);
/* Nothing more is timed, and no call is going on. */
void line_clock_end(void);
/* The calls that are going on have their time until now, and are forgotten. */
void line_clock_rest(void);
/* In the child of a fork, when times go to memory that is the process's own: the other threads are gone. */
void line_clock_forget_others(void);

/* In the thread that forks, just before: remembers its calls, with which the parent goes on in the arena that both see. */
void line_clock_before_fork(void);
/* In the child, before anything else. The trace moves to an arena of its own, which `open_arena` makes, at the first
 * event: a child that only execs has none. */
void line_clock_after_fork(struct arena *(*open_arena)(void));

#endif
