/*
 * thread_owners: how many threads were defined, and of which process each is. A program may start any number of
 * threads, so only the stretches of ids that belong to the same process are remembered. Id 0 is no thread. A
 * zeroed struct is valid and empty; it owns its rows until thread_owners_clear.
 */
#ifndef SONDE_STORE_THREAD_OWNERS_H
#define SONDE_STORE_THREAD_OWNERS_H

#include <stdint.h>

struct thread_owners {
    struct thread_owner {
        uint32_t first; /* thread; the stretch ends where the next begins */
        uint32_t process;
    } * rows;
    uint32_t rows_count, rows_capacity;
    uint32_t threads; /* defined so far */
};

void thread_owners_clear(struct thread_owners *owners);
/* The new thread's id, or 0 when memory ran out. */
uint32_t thread_owners_add(struct thread_owners *owners, uint32_t process);
/* 0 when there is no such thread. */
uint32_t thread_owners_process(const struct thread_owners *owners, uint32_t thread);

#endif
