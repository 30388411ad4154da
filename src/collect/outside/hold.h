/*
 * hold: one thread of another process made to stand still for a moment, and let go of again.
 *
 * Between two holds the thread is not traced at all: its signals, stops, execs and its end take their usual course,
 * and whatever becomes of us, the kernel lets it run on. A signal that arrives in the middle is passed on.
 */
#ifndef SONDE_COLLECT_OUTSIDE_HOLD_H
#define SONDE_COLLECT_OUTSIDE_HOLD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/user.h>

enum hold_outcome {
    HOLD_TAKEN,   /* it stands still: hold_release */
    HOLD_GONE,    /* it has ended, or may not be held (any more) */
    HOLD_PENDING, /* it does not answer (it is deep in the kernel): ask hold_again later */
};

struct hold {
    uint32_t tid;      /* 0 = none */
    int signal;        /* to be passed on; 0 = none */
    uint64_t since_ns; /* before that it did not stand still: when it was asked to, or was last seen not to */
};

/* Once in each thread that holds others, before it does: a wait for one that does not answer ends. */
int hold_init(void);
void hold_clear(void);

enum hold_outcome hold_take(struct hold *hold, uint32_t tid);
/* Whether a pending one has answered by now. Does not wait. */
enum hold_outcome hold_again(struct hold *hold);
/* The registers of a thread that stands still. False where they cannot be had. */
bool hold_registers(const struct hold *hold, struct user_regs_struct *registers);
/* Gives how long it stood there, at most: the kernel does not tell when a thread stopped, so the time that it may have
 * run on after it was asked counts, too. */
uint64_t hold_release(struct hold *hold);

#endif
