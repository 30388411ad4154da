/*
 * line_memory: charges growth of memory to the lines of chosen functions, as line_clock charges time; it tells us of
 * their beginnings and ends. A line's growth is what there is when it ends, less what there was when it began: all that
 * it called counts, and what it grew by is neither compared with a maximum nor with another line. What it grew by in
 * calls of its own function is that of their lines: so the lines of a function add up to the growth in it.
 *
 * Two measures: the heap, in which the bytes count that the line's own thread has allocated and freed meanwhile, so that
 * other threads do not disturb it, and the resident size, which is the process's (resident.h).
 *
 * All under the interpreter lock.
 */
#ifndef SONDE_COLLECT_INSIDE_LINE_MEMORY_H
#define SONDE_COLLECT_INSIDE_LINE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

struct arena_line_call;
struct line_thread;

/* What a call of a chosen function remembers of one measure: its value when the line and the call began, and what it
 * grew by in calls of the same function. */
struct line_memory_mark {
    int64_t since, begin, recursion;
};

struct line_memory_marks {
    struct line_memory_mark heap, rss;
};

/* Where the heap's figures come from, as collect/agent/heap.h has them; NULL = not known. */
struct line_memory_heap {
    const int64_t *(*thread_growth)(void);
    int64_t (*live_bytes)(void);
};

struct line_memory {
    struct arena_line_memory *rows; /* of the arena */
    struct line_memory_heap heap;
    uint64_t rss_bytes;   /* as last read */
    uint64_t limit_bytes; /* of the resident size, where the debugger is to stop; 0 = none */
    bool is_over_limit;   /* and it has not stopped yet */
    uint32_t session;     /* marks of another one are stale */
};

extern struct line_memory line_memory;

/* From now on memory is measured; the clock's arena has the rows. Open calls are taken up where they are. */
void line_memory_begin(struct line_memory_heap heap, uint64_t limit_bytes);
void line_memory_end(void);

/* Around what we ourselves may allocate in the middle of a line, which is not the program's. `before` is what the first
 * gave. */
int64_t line_memory_own_begin(void);
void line_memory_own_end(int64_t before);

/* For line_clock: the call's line has ended, and another of its lines begins; a call begins; the thread's innermost call
 * ends; the thread goes on in the child of a fork, in another arena. */
void line_memory_line(const struct arena_line_call *call, uint32_t line, uint64_t now);
void line_memory_enter(struct line_thread *thread, const struct arena_line_call *call, uint64_t now);
void line_memory_leave(struct line_thread *thread, const struct arena_line_call *call, uint64_t now);
void line_memory_moved(struct line_thread *thread);

#endif
