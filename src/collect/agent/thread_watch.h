/*
 * thread_watch: looks at every thread of a process at each instant of sampling, from within the process (sampler.c)
 * or from another (collect/outside).
 *
 * A thread that sleeps is read at once and believed only if it slept all the while; as long as it sleeps on, its
 * stack is not read again. One that runs is handed to `sample_runner`. Whoever makes
 * the watch owns the area, the reader and the rows; nothing is allocated.
 */
#ifndef SONDE_COLLECT_AGENT_THREAD_WATCH_H
#define SONDE_COLLECT_AGENT_THREAD_WATCH_H

#include "collect/agent/sample_area.h"
#include "collect/agent/task_list.h"
#include "python/thread_names.h"

struct stack_reader;

/* What is remembered of a thread, beside its slot. A zeroed one is unused. */
struct watched {
    struct task task;
    struct task_times times;   /* when it was last seen asleep */
    bool asleep;               /* its stack has been written and cannot have changed since */
    uint32_t repeats;          /* ticks since then, not written yet */
    uint32_t wary;             /* ticks until we forget that it sleeps now and then */
    uint64_t slept, displaced; /* how often, at the last look */
    bool in_call;              /* it has been woken, but has not run since */
    uint32_t bursts;           /* ticks that found it woken, but still in its call: not asked of it */
    uint32_t misses;           /* looks in vain for its PyThreadState; whoever looks for it counts them */
    uint32_t
        unnamed; /* ticks at which the program had no name for it; NAME_TRIES = it is not asked at each */
};

struct thread_watch {
    struct sample_area *area;
    struct stack_reader *reader;
    struct watched *threads; /* SAMPLE_AREA_SLOTS of them */
    uint64_t random;         /* not 0 */
    uint64_t next_ns;        /* when to look again; 0 = not set yet */
    uint32_t ticks;          /* instants that one look stands for: more than 1 when we came late; 0 = 1 */
    uint32_t threads_listed; /* what the kernel counted when the threads were last listed */
    uint64_t listed_ns;      /* when that was */
    bool ended;              /* a thread was found to have ended since */
    uint32_t free_place;     /* slots below this one have threads */
    /* The thread in this slot runs and owes `due` samples. */
    void (*sample_runner)(struct thread_watch *watch, uint32_t place);
    /* The PyThreadState of the thread in this slot, which sleeps and is about to be read; 0 = none. */
    uint64_t (*find_state)(struct thread_watch *watch, uint32_t place);
    void *context; /* for these two */
    struct thread_names names;
    uint64_t names_ns;    /* when the next name is looked at again */
    uint32_t names_place; /* whose */
};

/* For the thread that calls, whose work is short and rare but should be done on time: the kernel may not put it off
 * (as it does by 50 us, to save power), and gives those an early turn who ask for short ones. */
void thread_watch_ask_for_short_turns(void);
/* Sleeps until the next instant, or until a signal comes (`ticks` is 0 then). When several have passed meanwhile, one
 * look stands for all: to look several times at once would show the same place, only dearer. */
void thread_watch_wait(struct thread_watch *watch);
/* Threads that have come get a slot, those that have gone lose it. False when the process has ended. */
bool thread_watch_refresh(struct thread_watch *watch, struct task_folder *folder);
/* One instant of sampling. */
void thread_watch_look(struct thread_watch *watch);
/* After a rest: neither the instants nor the CPU time that have passed meanwhile are made up for. */
void thread_watch_begin_anew(struct thread_watch *watch);
/* Writes what is still owed of sleeping threads. */
void thread_watch_finish(struct thread_watch *watch);
/* The time to the next instant: exponential, so that no loop of the program keeps step with us. */
uint64_t thread_watch_interval_ns(struct thread_watch *watch);

#endif
