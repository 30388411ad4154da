/*
 * thread_shares: how the time or memory of one function is spread over the threads: its own in each, and that with it
 * on the stack. Flat profiles know no threads.
 */
#ifndef SONDE_ANALYSE_THREAD_SHARES_H
#define SONDE_ANALYSE_THREAD_SHARES_H

#include <stdint.h>

struct err;
struct recording;
struct selection;

struct thread_share {
    uint64_t self, total;
};

/* By thread, as many as the recording has. Owned: free it. NULL with err when memory ran out. */
struct thread_share *thread_shares_new(const struct recording *recording, const struct selection *selection,
                                       uint32_t code, struct err *err);

#endif
