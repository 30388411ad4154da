/*
 * call_log: writes each call's beginning and end, and the beginnings of lines, into the ring of an arena (struct arena_log),
 * from which the recorder makes the timeline. One word and one store for each event.
 *
 * Never waits: when the ring is full, calls are lost and counted until half of it is free again, and each thread's next
 * word says which of the calls around it went on all the while. Interpreter lock held.
 */
#ifndef SONDE_COLLECT_INSIDE_CALL_LOG_H
#define SONDE_COLLECT_INSIDE_CALL_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/agent/arena.h"

struct call_log {
    struct arena_log *shared; /* NULL = there is no log; in the arena, as are: */
    uint64_t *words;
    struct arena_thread *threads;
    struct arena_node *nodes;
    uint32_t size, piece; /* of the ring in words; room is sought so many at a time */
    uint32_t at, stop; /* the next word's place; up to here, and a few more, may be written without asking */
    uint64_t lap;      /* words that were written before the first of the ring was last */
    uint32_t lap_size; /* how many the lap before that had */
    uint64_t longest;  /* the most words that the reader was ever behind */
    bool is_full;
    uint64_t last_ticks;      /* of the word before */
    struct arena_thread *row; /* whose word that was */
};

/* The log of the arena, if it has one. */
void call_log_init(struct call_log *log, struct arena *arena);

/* One step of a thread, up or down its stack. */
struct call_log_step {
    uint32_t node;
    bool begins; /* a call */
    uint64_t now_ticks;
};
void call_log_put_slowly(struct call_log *log, struct arena_thread *row, struct call_log_step step);
/* A line of the call begins that the thread is in. */
void call_log_put_line(struct call_log *log, struct arena_thread *row, uint32_t line, uint64_t now_ticks);
/* The thread is in other calls than the log knows of, none of which has begun just now. */
void call_log_carry(struct call_log *log, struct arena_thread *row, uint32_t node, uint64_t now_ticks);

/* The thread is in that node from now on. */
static inline void call_log_put(struct call_log *log, struct arena_thread *row, struct call_log_step step)
{
    uint32_t at = log->at;
    bool is_long = (step.now_ticks - log->last_ticks) >> ARENA_LOG_TIME_BITS;
    if (__builtin_expect(at >= log->stop || row != log->row || is_long, 0)) {
        call_log_put_slowly(log, row, step);
        return;
    }
    log->words[at] = step.now_ticks << ARENA_LOG_NODE_BITS | step.node;
    log->at = at + 1;
    log->last_ticks = step.now_ticks;
    __atomic_store_n(&log->shared->head, log->shared->head + 1, __ATOMIC_RELEASE);
}

#endif
