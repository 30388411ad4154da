/*
 * thread_shares: how the time of one function is spread over the threads: its own time in each, and the time that it was
 * on the stack. Flat profiles know no threads.
 */
#ifndef SONDE_ANALYSE_THREAD_SHARES_H
#define SONDE_ANALYSE_THREAD_SHARES_H

#include <stdint.h>

struct err;
struct recording;
struct selection;

struct thread_share {
    uint64_t self_ns, total_ns;
};

/* By thread, as many as the recording has. Owned: free it. NULL with err when memory ran out. */
struct thread_share *thread_shares_new(const struct recording *recording, const struct selection *selection,
                                       uint32_t code, struct err *err);

#endif
