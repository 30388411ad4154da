/*
 * attach: the processes that are sampled from outside: the one that was asked for and, if wanted, those that it
 * starts. Each has a thread of ours (attached.h); this is what the recorder's own thread does about them.
 */
#ifndef SONDE_COLLECT_OUTSIDE_ATTACH_H
#define SONDE_COLLECT_OUTSIDE_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct attached;
struct err;
struct session_hello;

struct attach_process {
    uint32_t pid;
    struct attached *attached; /* NULL = not sampled (yet) */
    bool is_program;           /* the one that was asked for */
    uint32_t tries;            /* that have found no Python in it */
    uint64_t next_try_ns;
};

/* A zeroed one is empty. */
struct attach {
    uint64_t period_ns;
    bool native;    /* native frames, too */
    bool tasks;     /* the tasks of asyncio */
    bool children;  /* those that it starts, too */
    bool cpu_clock; /* samples stand for CPU time */
    uint64_t next_look_ns;
    struct attach_process *processes;
    size_t count, capacity;
    /* Told by attach_open and attach_step. A process that becomes another program begins again without having
     * ended; `why` says so where that one cannot be sampled, else NULL. */
    void (*begins)(void *context, uint32_t pid, const struct session_hello *hello, int fd);
    void (*ends)(void *context, uint32_t pid, bool is_program, const char *why);
    void *context;
};

/* Whether the process can be read at all and holds a Python that can: in words what is in the way and what to do. */
int attach_check(uint32_t pid, struct err *err);

/* Whether it is stopped by a signal or a debugger, so that it will not run until it is told to. */
bool attach_is_stopped(uint32_t pid);

int attach_open(struct attach *attach, uint32_t pid, struct err *err);
/* Call it every few milliseconds. */
void attach_step(struct attach *attach);
/* Sampling ends: no thread is held any more, and all samples are in the areas. The processes run on. */
void attach_stop(struct attach *attach);
void attach_clear(struct attach *attach);

#endif
