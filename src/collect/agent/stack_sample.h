/*
 * stack_sample: takes one sample of one thread: by the thread itself in a signal handler while it runs, or by the
 * sampler while it sleeps. Async-signal-safe.
 */
#ifndef SONDE_COLLECT_AGENT_STACK_SAMPLE_H
#define SONDE_COLLECT_AGENT_STACK_SAMPLE_H

#include <ucontext.h>

#include "collect/agent/current_calls.h"
#include "collect/agent/native_stack.h"
#include "collect/agent/sample_area.h"
#include "python/asyncio.h"

/* What is needed to read the interpreter of this process. Set once, then only read; but for `tasks`, which
 * may come later. */
struct stack_reader {
    struct layout layout;
    struct code_cache codes;
    struct walk_process process;
    void *(*current_state)(void); /* of the calling thread; may be NULL */
    void *(*thread_state)(void);  /* of the calling thread even while it does not hold the lock */
    uint32_t tid_offset;          /* of the kernel's number in what a pthread_t points to; 0 = not known */
    uint64_t runtime;             /* address of _PyRuntime */
    struct native_walker *native; /* NULL = Python frames only */
    const struct current_calls *calls; /* NULL = nobody says what is called */
    struct asyncio asyncio;
    const struct asyncio *tasks; /* NULL = not known, or not wanted */
};

/* Finds the interpreter. NULL, or why it cannot be read. */
const char *stack_sample_init(struct stack_reader *reader);

/* The PyThreadState of the calling thread, whether it holds the lock or not; 0 = it has none. */
uint64_t stack_sample_own_state(const struct stack_reader *reader);

/* The table of _asyncio is found: from now on samples show tasks. Called once at most. */
void stack_sample_find_tasks(struct stack_reader *reader, uint64_t table);

/* The calling thread, interrupted at `context`, samples itself: `count` samples' worth. False when its stack is just
 * being changed and cannot be believed; unless this is the last try, nothing was written then. */
bool stack_sample_self(struct sample_area *area, struct sample_slot *slot, struct stack_reader *reader,
                       uint32_t count, bool last_try, const ucontext_t *context);
/* The same of a thread whose PyThreadState is known (0 = it has none) and that is held by whoever calls, with
 * these registers. */
bool stack_sample_runner(struct sample_area *area, struct sample_slot *slot, struct stack_reader *reader,
                         uint64_t state, uint32_t count, bool last_try,
                         const struct walk_native_registers *registers);
/* The sampler samples a thread that sleeps. `still` is asked after the walk whether it still does; a sample of a
 * thread that has moved is dropped. True when a sample was written. */
bool stack_sample_sleeper(struct sample_area *area, struct sample_slot *slot, struct stack_reader *reader,
                          uint32_t count, bool (*still)(void *context), void *context);
/* The same stack as before, asleep or not. */
bool stack_sample_again(struct sample_area *area, struct sample_slot *slot, uint32_t count, bool running);

#endif
