/*
 * state_list: the PyThreadStates of this process by the kernel's numbers of their threads, for the sampler, which meets
 * threads that sleep and have never run under its eyes.
 *
 * The interpreter's lists are gone through at most once for each look at the threads, and change meanwhile: every read
 * may fail. Nothing is allocated. A zeroed list is empty.
 */
#ifndef SONDE_COLLECT_AGENT_STATE_LIST_H
#define SONDE_COLLECT_AGENT_STATE_LIST_H

#include <stdint.h>

struct stack_reader;

enum { STATE_LIST_MAX = 4096 };

struct state_list {
    uint64_t look; /* at which it was made, plus one; 0 = it was not */
    uint32_t count;
    struct state_row {
        uint64_t state;
        uint32_t tid;
    } rows[STATE_LIST_MAX]; /* the newest thread of the newest interpreter first */
};

/* The state of a thread; 0 when it has none, or none can be told. `look` rises. */
uint64_t state_list_find(struct state_list *list, const struct stack_reader *reader, uint32_t tid,
                         uint64_t look);

#endif
